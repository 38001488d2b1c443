/** What an RPC method is made of. */
import { invariant } from "../../../../runtime/invariant.ts";
import type { Arguments, Parameters } from "./parameters.ts";

export type RequestId = string | number;

/** The caller's connection. Plain HTTP cannot receive events. */
export interface Caller {
  readonly id: RequestId;
  readonly subscriber?: Subscriber;
}

export interface Subscriber {
  subscribe(query: string, id: RequestId): void;
  unsubscribe(query: string): void;
  unsubscribeAll(): void;
}

export interface Method {
  readonly parameters: Parameters;
  /** Its answer goes out as JSON; what it throws goes out as an internal error with that message. */
  call(args: Readonly<Record<string, unknown>>, caller: Caller): unknown;
  /** Makes sense on a connection that stays, and is unknown elsewhere. */
  readonly websocketOnly?: boolean;
}

export type Methods = Readonly<Record<string, Method>>;

export function method<P extends Parameters>(
  parameters: P,
  call: (args: Arguments<P>, caller: Caller) => unknown,
): Method {
  return { parameters, call: (args, caller) => call(args as Arguments<P>, caller) };
}

export function socketMethod<P extends Parameters>(
  parameters: P,
  call: (args: Arguments<P>, subscriber: Subscriber, id: RequestId) => void,
): Method {
  const plain = method(parameters, (args, { id, subscriber }) => {
    invariant(subscriber, "only a WebSocket may subscribe");
    call(args, subscriber, id);
    return {};
  });
  return { ...plain, websocketOnly: true };
}
