/** Calls that go on: with many answers, or with many messages from both sides. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { ByteBudget, type RequestBudget } from "../byte-budget.ts";
import type { Clock, Timer } from "../clock.ts";
import type { DeadlineList } from "../deadline-list.ts";
import { streamFarewellMs } from "../limits.ts";
import {
  createReply,
  type Ends,
  grpcRequestMs,
  type HeldCall,
  hold,
  isGone,
  type Reply,
  type RequestHead,
  type Unpack,
} from "./call.ts";
import { readMessages } from "./framing.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes, late } from "./grpc-status.ts";
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
  readonly stalled: DeadlineList<ServerHttp2Stream>;
  /** The status of what a method threw. */
  readonly failed: (thrown: unknown) => GrpcStatus;
}

type ManyMethod = Exclude<GrpcMethod, UnaryMethod>;

export function createStreamingCalls({ bounds, unpack, clock, stalled, failed }: StreamingDeps) {
  const { clients = anyClient } = bounds;
  const replies = new Set<Reply>();
  // They are bounded as bytes are.
  const streams = new ByteBudget({
    ...{ perClient: Math.min(clients.streams, bounds.streams), total: bounds.streams, assured: clients.assuredStreams },
  });

  function serve(held: HeldCall, headers: IncomingHttpHeaders, head: RequestHead, method: ManyMethod, ends: Ends) {
    const reply = createReply(held.stream, head, { clock, stalled, ends });
    replies.add(reply);
    reply.over.addEventListener("abort", () => replies.delete(reply), { once: true });
    const answered = answerMany(held, headers, head, method, reply);
    // Of a conversation nothing is kept but what it reads now.
    if (method.kind === "stream") held.keepUntil(answered);
    answered.catch((thrown) => {
      // Work for somebody who has left may end with any error.
      if (reply.over.aborted) return;
      reply.end(failed(thrown), thrown instanceof GrpcRefusal ? thrown.headers : undefined);
    });
  }

  async function answerMany(
    held: HeldCall,
    headers: IncomingHttpHeaders,
    { path, timeoutMs }: RequestHead,
    method: ManyMethod,
    reply: Reply,
  ): Promise<void> {
    if (timeoutMs !== undefined) endAfter(clock, reply, timeoutMs, late().message);
    const { stream, client } = held;
    const call = {
      path,
      headers,
      socket: stream.session?.socket,
      signal: reply.over,
      end: (thrown: unknown) => endNow(stream, reply, thrown),
    };
    held.countFor(await method.authenticate?.(call));
    const reading = {
      ...{ headers: () => headers, mostBytes: bounds.requestBytes },
      unpack: (packed: Uint8Array) => unpack(packed, held),
    };
    const requests = requestsOf(held, reading, reply, clock);
    if (method.kind === "conversation") await sendAll(method.answers(requests, call), client, reply);
    else {
      const request = await firstOf(requests);
      // What comes behind it is nobody's.
      stream.resume();
      await sendAll(method.answers(request, call), client, reply, method.headers);
    }
    reply.end();
  }

  async function sendAll(
    messages: AsyncIterable<Uint8Array>,
    client: string,
    reply: Reply,
    headers: (() => OutgoingHttpHeaders) | undefined = undefined,
  ): Promise<void> {
    if (!streams.reserve(client, 1)) {
      const message = `${streams.used} streams are open, and more are not served to you`;
      throw new GrpcRefusal(grpcCodes.ResourceExhausted, message);
    }
    try {
      for await (const message of messages) {
        await reply.send(message, headers?.());
        if (reply.over.aborted) return;
      }
    } finally {
      streams.release(client, 1);
    }
  }

  function endNow(stream: ServerHttp2Stream, reply: Reply, thrown: unknown): void {
    reply.end(failed(thrown));
    const timer = clock.timer(streamFarewellMs, () => stream.close(constants.NGHTTP2_CANCEL));
    stream.once("close", () => timer.cancel());
  }

  return {
    serve,
    stop(status: GrpcStatus): void {
      for (const reply of replies) reply.end(status);
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
  throw new GrpcRefusal(grpcCodes.Unknown, "EOF");
}

function endAfter(clock: Clock, reply: Reply, ms: number, message: string): Timer {
  const timer = clock.timer(ms, () => reply.end({ code: grpcCodes.DeadlineExceeded, message }));
  reply.over.addEventListener("abort", () => timer.cancel(), { once: true });
  return timer;
}

/** Each of them has the time of a whole request: a conversation that rests is over. */
async function* requestsOf(
  { stream, holding }: HeldCall,
  reading: Pick<Parameters<typeof readMessages>[1], "headers" | "mostBytes" | "unpack">,
  reply: Reply,
  clock: Clock,
): AsyncGenerator<Uint8Array, void> {
  let timer = endAfter(clock, reply, grpcRequestMs, "no further request arrived in time");
  // Of a client that left nothing is held any more, though its requests may still be read.
  const onKept = (bytes: number) => isGone(stream) || hold(holding, bytes);
  try {
    for await (const request of readMessages(stream, { ...reading, onKept })) {
      timer.cancel();
      yield request;
      timer = endAfter(clock, reply, grpcRequestMs, "no further request arrived in time");
    }
  } finally {
    timer.cancel();
  }
}
