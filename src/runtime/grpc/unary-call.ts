/** Unary calls. There are thousands a second, so timers, promises and signals are made only when the method needs them. */
import type { Clock } from "../clock.ts";
import type { DeadlineList, Pending } from "../deadline-list.ts";
import { hold, type ServerCall, type Unpack } from "./call.ts";
import { ByteBuffer, frameBytes, framed, headBytes, messageIn } from "./framing.ts";
import { GrpcError, grpcCodes, late } from "./grpc-status.ts";
import type { GrpcAnswer, UnaryMethod } from "./methods.ts";

interface UnaryDeps {
  readonly requestBytes: number;
  readonly unpack: Unpack;
  readonly clock: Clock;
  /** Calls whose request is incomplete. */
  readonly receiving: DeadlineList<ServerCall>;
  /** Calls whose method has not answered yet. */
  readonly answering: Set<ServerCall>;
}

export function createUnaryCalls({ requestBytes, unpack, clock, receiving, answering }: UnaryDeps) {
  function serve(call: ServerCall, method: UnaryMethod): void {
    const awaited = receiving.begin(call);
    const fail = (thrown: unknown) => {
      receiving.end(awaited);
      call.fail(thrown);
    };
    call.stream.on("close", () => receiving.end(awaited));
    const receiveFor = (account: string | undefined) => {
      call.countFor(account);
      receive(call, method, awaited, fail);
    };
    try {
      const account = method.authenticate?.(call);
      if (account instanceof Promise) account.then(receiveFor).catch(fail);
      else receiveFor(account);
    } catch (thrown) {
      fail(thrown);
    }
  }

  function receive(
    call: ServerCall,
    method: UnaryMethod,
    awaited: Pending<ServerCall>,
    fail: (thrown: unknown) => void,
  ): void {
    const buffer = new ByteBuffer();
    let needed = 0;
    call.stream.on("data", (chunk: Buffer) => {
      // What follows the one message is ignored.
      if (call.isOver || (needed > 0 && buffer.size >= needed)) return;
      buffer.add(chunk);
      try {
        hold(call.holding, buffer.kept);
        if (needed === 0 && buffer.size >= headBytes) needed = frameBytes(buffer.whole(), requestBytes);
      } catch (thrown) {
        fail(thrown);
      }
    });
    call.stream.on("end", () => {
      receiving.end(awaited);
      if (call.isOver) return;
      const { timeoutMs } = call.head;
      const leftMs = timeoutMs === undefined ? undefined : timeoutMs - (clock.monotonicMs() - awaited.sinceMs);
      try {
        if (leftMs !== undefined && leftMs <= 0) throw late();
        if (buffer.size === 0) throw new GrpcError(grpcCodes.Unknown, "EOF");
        if (needed === 0 || buffer.size < needed) throw new GrpcError(grpcCodes.Internal, "unexpected EOF");
        answer(call, method, buffer.whole().subarray(0, needed), leftMs);
      } catch (thrown) {
        call.fail(thrown);
      }
    });
  }

  function answer(call: ServerCall, method: UnaryMethod, frame: Buffer, leftMs: number | undefined): void {
    const message = messageIn(frame, call.headers, (packed) => unpack(packed, call));
    const answer =
      message instanceof Promise ? message.then((each) => method.answer(each, call)) : method.answer(message, call);
    if (answer instanceof Promise || call.head.gzip) void answerLater(call, Promise.resolve(answer), leftMs);
    else call.sendLast(framed(answer.message), answer.headers);
  }

  async function answerLater(call: ServerCall, answer: Promise<GrpcAnswer>, leftMs: number | undefined): Promise<void> {
    const timer = leftMs === undefined ? undefined : clock.timer(leftMs, () => call.fail(late()));
    answering.add(call);
    call.keepUntil(answer);
    try {
      const { message, headers } = await answer;
      call.sendLast(await call.frameOf(message), headers);
    } catch (thrown) {
      call.fail(thrown);
    } finally {
      timer?.cancel();
      answering.delete(call);
    }
  }

  return { serve };
}
