/** Methods of a connection that wants to hear of events. */
import { invariant } from "../../../../runtime/invariant.ts";
import { type Caller, type Method, type Methods, method, type Subscriber } from "./method.ts";

export function subscriptionMethods(): Methods {
  return {
    subscribe: onSocket(
      method({ query: "text" }, ({ query }, caller) => {
        subscriberOf(caller).subscribe(query, caller.id);
        return {};
      }),
    ),
    unsubscribe: onSocket(
      method({ query: "text" }, ({ query }, caller) => {
        subscriberOf(caller).unsubscribe(query);
        return {};
      }),
    ),
    unsubscribe_all: onSocket(
      method({}, (_, caller) => {
        subscriberOf(caller).unsubscribeAll();
        return {};
      }),
    ),
  };
}

function onSocket(plain: Method): Method {
  return { ...plain, websocketOnly: true };
}

function subscriberOf(caller: Caller): Subscriber {
  invariant(caller.subscriber, "only a WebSocket may subscribe");
  return caller.subscriber;
}
