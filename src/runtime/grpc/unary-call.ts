/** A unary call. There are thousands a second, so timers, promises and signals are made only when the method needs them. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";
import type { DeadlineList, Pending } from "../deadline-list.ts";
import {
  answerHeaders,
  countEnd,
  type Ends,
  type HeldCall,
  hold,
  isGone,
  type RequestHead,
  refuseCall,
  type Unpack,
} from "./call.ts";
import { ByteBuffer, frameBytes, framed, framedGzip, headBytes, messageIn } from "./framing.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes, grpcOk, late, statusHeaders } from "./grpc-status.ts";
import type { GrpcAnswer, GrpcCall, UnaryMethod } from "./methods.ts";

interface UnaryDeps {
  readonly requestBytes: number;
  readonly unpack: Unpack;
  readonly clock: Clock;
  /** Those whose request is not whole. */
  readonly asking: DeadlineList<UnaryCall>;
  /** Those whose method has not answered yet. */
  readonly answering: Set<UnaryCall>;
  readonly stalled: DeadlineList<ServerHttp2Stream>;
  /** The status of what a method threw. */
  readonly failed: (thrown: unknown) => GrpcStatus;
}

const answered = { waitForTrailers: true };
const okTrailers = statusHeaders(grpcOk);

export class UnaryCall implements GrpcCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly #held: HeldCall;
  readonly #stream: ServerHttp2Stream;
  readonly #head: RequestHead;
  readonly #deps: UnaryDeps;
  readonly #ends: Ends;
  #abort: AbortController | undefined;
  #isOver = false;

  constructor(held: HeldCall, headers: IncomingHttpHeaders, head: RequestHead, deps: UnaryDeps, ends: Ends) {
    this.path = head.path;
    this.headers = headers;
    this.#held = held;
    this.#stream = held.stream;
    this.#head = head;
    this.#deps = deps;
    this.#ends = ends;
  }

  get socket(): Socket | undefined {
    return this.#stream.session?.socket;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      if (this.#isOver || isGone(this.#stream)) abort.abort();
      else this.#stream.once("close", () => abort.abort());
    }
    return this.#abort.signal;
  }

  serve(method: UnaryMethod): void {
    const { asking } = this.#deps;
    const awaited = asking.begin(this);
    const fail = (thrown: unknown) => {
      asking.end(awaited);
      this.#fail(thrown);
    };
    this.#stream.on("close", () => {
      asking.end(awaited);
      this.#settle(grpcCodes.Canceled);
    });
    const gather = (account: string | undefined) => {
      this.#held.countFor(account);
      this.#gather(method, awaited, fail);
    };
    try {
      const account = method.authenticate?.(this);
      if (account instanceof Promise) account.then(gather).catch(fail);
      else gather(account);
    } catch (thrown) {
      fail(thrown);
    }
  }

  #gather(method: UnaryMethod, awaited: Pending<UnaryCall>, fail: (thrown: unknown) => void): void {
    const { asking, requestBytes, clock } = this.#deps;
    const { holding } = this.#held;
    const buffer = new ByteBuffer();
    let needed = 0;
    this.#stream.on("data", (chunk: Buffer) => {
      // One message is asked for; what comes behind it is nobody's.
      if (this.#isOver || (needed > 0 && buffer.size >= needed)) return;
      buffer.add(chunk);
      try {
        hold(holding, buffer.kept);
        if (needed === 0 && buffer.size >= headBytes) needed = frameBytes(buffer.whole(), requestBytes);
      } catch (thrown) {
        fail(thrown);
      }
    });
    this.#stream.on("end", () => {
      asking.end(awaited);
      if (this.#isOver) return;
      const { timeoutMs } = this.#head;
      const leftMs = timeoutMs === undefined ? undefined : timeoutMs - (clock.monotonicMs() - awaited.sinceMs);
      try {
        if (leftMs !== undefined && leftMs <= 0) throw late();
        if (buffer.size === 0) throw new GrpcRefusal(grpcCodes.Unknown, "EOF");
        if (needed === 0 || buffer.size < needed) throw new GrpcRefusal(grpcCodes.Internal, "unexpected EOF");
        this.#answer(method, buffer.whole().subarray(0, needed), leftMs);
      } catch (thrown) {
        this.#fail(thrown);
      }
    });
  }

  /** Ends it with a status, if it has none yet. Not `end`: that is what a call that goes on has, for whatever was thrown. */
  endWith(status: GrpcStatus, headers?: GrpcRefusal["headers"]): void {
    if (!this.#settle(status.code)) return;
    refuseCall(this.#stream, this.#head, status, this.#deps.clock, headers);
    this.#abort?.abort();
  }

  #answer(method: UnaryMethod, frame: Buffer, leftMs: number | undefined): void {
    const message = messageIn(frame, this.headers, (packed) => this.#deps.unpack(packed, this.#held));
    const answer =
      message instanceof Promise ? message.then((each) => method.answer(each, this)) : method.answer(message, this);
    if (answer instanceof Promise) void this.#answerLater(answer, leftMs);
    else if (this.#head.gzip) void this.#answerLater(Promise.resolve(answer), leftMs);
    else this.#send(framed(answer.message), answer);
  }

  async #answerLater(answer: Promise<GrpcAnswer>, leftMs: number | undefined): Promise<void> {
    const { clock, answering } = this.#deps;
    const timer = leftMs === undefined ? undefined : clock.timer(leftMs, () => this.#fail(late()));
    answering.add(this);
    this.#held.keepUntil(answer);
    try {
      const made = await answer;
      this.#send(this.#head.gzip ? await framedGzip(made.message) : framed(made.message), made);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      timer?.cancel();
      answering.delete(this);
    }
  }

  #send(frame: Buffer, { headers }: GrpcAnswer): void {
    const stream = this.#stream;
    if (isGone(stream) || !this.#settle(grpcCodes.OK)) return;
    const { stalled } = this.#deps;
    const waiting = stalled.begin(stream);
    stream.respond(answerHeaders(this.#head, headers), answered);
    stream.on("wantTrailers", sendOk);
    stream.on("close", () => stalled.end(waiting));
    stream.end(frame);
  }

  /** Whether it was the first end. */
  #settle(code: number): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    countEnd(this.#ends, code);
    return true;
  }

  #fail(thrown: unknown): void {
    // Work for somebody who has left may end with any error.
    if (this.#isOver || isGone(this.#stream)) return;
    this.endWith(this.#deps.failed(thrown), thrown instanceof GrpcRefusal ? thrown.headers : undefined);
  }
}

function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(okTrailers);
}
