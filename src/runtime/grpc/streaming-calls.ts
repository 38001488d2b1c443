/** Streaming calls: with many answers, or with many messages from both sides. */
import type { OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { ByteBudget, type RequestBudget } from "../byte-budget.ts";
import type { Clock, Timer } from "../clock.ts";
import { grpcRequestMs, hold, isGone, type ServerCall, type Unpack } from "./call.ts";
import { readMessages } from "./framing.ts";
import { GrpcError, type GrpcStatus, grpcCodes, grpcOk, late } from "./grpc-status.ts";
import type { GrpcMethod, UnaryMethod } from "./methods.ts";

export interface GrpcBounds {
  readonly connections: number;
  /** At once on one connection; clients queue the rest. */
  readonly calls: number;
  /** Calls with many answers, on all connections together. */
  readonly streams: number;
  readonly requestBytes: number;
  /** Where anyone may connect: of one client, which is known by its connection alone. */
  readonly clients?: {
    of(socket: Socket): string;
    readonly streams: number;
    /** So many it has also while others have all of them. */
    readonly assuredStreams: number;
    /** For the messages of its calls that are not answered yet. */
    readonly budget: RequestBudget;
  };
}

const unbounded = Number.POSITIVE_INFINITY;
const unboundedBytes = new ByteBudget({ perClient: unbounded, total: unbounded, assured: unbounded });
export const anyClient: NonNullable<GrpcBounds["clients"]> = {
  of: () => "",
  ...{ streams: unbounded, assuredStreams: unbounded },
  budget: { anonymous: unboundedBytes, accounts: unboundedBytes },
};

interface StreamingDeps {
  readonly bounds: GrpcBounds;
  readonly unpack: Unpack;
  readonly clock: Clock;
}

export function createStreamingCalls({ bounds, unpack, clock }: StreamingDeps) {
  const { clients = anyClient } = bounds;
  const calls = new Set<ServerCall>();
  // Streams are bounded as bytes are.
  const streams = new ByteBudget({
    ...{ perClient: Math.min(clients.streams, bounds.streams), total: bounds.streams, assured: clients.assuredStreams },
  });

  function serve(call: ServerCall, method: Exclude<GrpcMethod, UnaryMethod>) {
    calls.add(call);
    call.signal.addEventListener("abort", () => calls.delete(call), { once: true });
    const answered = answer(call, method);
    // Of a conversation nothing is kept but what it reads now.
    if (method.kind === "stream") call.keepUntil(answered);
    answered.catch((thrown) => call.fail(thrown));
  }

  async function answer(call: ServerCall, method: Exclude<GrpcMethod, UnaryMethod>): Promise<void> {
    const { timeoutMs } = call.head;
    if (timeoutMs !== undefined) endAfter(clock, call, timeoutMs, late().message);
    call.countFor(await method.authenticate?.(call));
    const requests = requestsOf(call);
    if (method.kind === "conversation") await sendAll(call, method.answers(requests, call));
    else {
      const request = await firstOf(requests);
      // What follows it is ignored.
      call.stream.resume();
      await sendAll(call, method.answers(request, call), method.headers);
    }
    call.endWith(grpcOk);
  }

  /** Each request has the time of a whole one: an idle conversation is ended. */
  async function* requestsOf(call: ServerCall): AsyncGenerator<Uint8Array, void> {
    const limit = () => endAfter(clock, call, grpcRequestMs, "no further request arrived in time");
    let timer = limit();
    const reading = {
      headers: () => call.headers,
      mostBytes: bounds.requestBytes,
      unpack: (packed: Uint8Array) => unpack(packed, call),
      // Of a client that left nothing is held any more, though its requests may still be read.
      onKept: (bytes: number) => isGone(call.stream) || hold(call.holding, bytes),
    };
    try {
      for await (const request of readMessages(call.stream, reading)) {
        timer.cancel();
        yield request;
        timer = limit();
      }
    } finally {
      timer.cancel();
    }
  }

  async function sendAll(
    call: ServerCall,
    messages: AsyncIterable<Uint8Array>,
    headers?: () => OutgoingHttpHeaders,
  ): Promise<void> {
    if (!streams.reserve(call.client, 1)) {
      const message = `${streams.used} streams are open, and more are not served to you`;
      throw new GrpcError(grpcCodes.ResourceExhausted, message);
    }
    try {
      for await (const message of messages) {
        await call.send(message, headers?.());
        if (call.isOver) return;
      }
    } finally {
      streams.release(call.client, 1);
    }
  }

  return {
    serve,
    stop(status: GrpcStatus): void {
      for (const call of calls) call.endWith(status);
    },
    get streams(): number {
      return streams.used;
    },
  };
}

async function firstOf(requests: AsyncGenerator<Uint8Array, void>): Promise<Uint8Array> {
  const { value } = await requests.next();
  await requests.return();
  if (value) return value;
  throw new GrpcError(grpcCodes.Unknown, "EOF");
}

function endAfter(clock: Clock, call: ServerCall, ms: number, message: string): Timer {
  const timer = clock.timer(ms, () => call.endWith({ code: grpcCodes.DeadlineExceeded, message }));
  call.signal.addEventListener("abort", () => timer.cancel(), { once: true });
  return timer;
}
