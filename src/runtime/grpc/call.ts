/** The headers, messages and status of a call; invalid calls are rejected with grpc-go's messages and codes. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { ByteHolding, RequestBudget } from "../byte-budget.ts";
import type { Clock } from "../clock.ts";
import type { DeadlineList } from "../deadline-list.ts";
import { second } from "../durations.ts";
import { streamFarewellMs } from "../limits.ts";
import { createFairSemaphore } from "../semaphore.ts";
import { framed, framedGzip, gunzipMessage } from "./framing.ts";
import { GrpcError, type GrpcStatus, grpcCodes, grpcOk, statusHeaders } from "./grpc-status.ts";
import type { GrpcCall } from "./methods.ts";

/** Time for a request to arrive. */
export const grpcRequestMs = 10 * second;

export interface RequestHead {
  readonly path: string;
  /** Of the request and of the response. */
  readonly contentType: string;
  /** Whether the client compresses, and so accepts compression. */
  readonly gzip: boolean;
  /** The client's deadline. */
  readonly timeoutMs: number | undefined;
}

interface NoCall {
  /** The same as in the headers. */
  readonly code: number;
  readonly rejection: OutgoingHttpHeaders;
}

const grpc = "application/grpc";

export function readCallHead(headers: IncomingHttpHeaders): RequestHead | NoCall {
  const given = headers["content-type"] ?? "";
  const contentType = given === grpc ? grpc : answeredType(given);
  // Health probes of operators expect this type in any response.
  if (contentType === undefined) {
    return noCall(415, grpcCodes.InvalidArgument, `invalid gRPC request content-type "${given}"`);
  }
  const method = headers[":method"];
  if (method !== "POST") {
    return noCall(405, grpcCodes.Internal, `Received a HEADERS frame with :method "${method}" which should be POST`);
  }
  const timeout = headers["grpc-timeout"];
  let timeoutMs: number | undefined;
  if (timeout !== undefined) {
    const read = readTimeout(String(timeout));
    if (typeof read === "string") return noCall(400, grpcCodes.Internal, `malformed grpc-timeout: ${read}`);
    timeoutMs = read;
  }
  return { path: headers[":path"] ?? "", contentType, gzip: headers["grpc-encoding"] === "gzip", timeoutMs };
}

/** "application/grpc+proto" and "application/grpc;proto" are equal; other suffixes are invalid. */
function answeredType(given: string): string | undefined {
  if (!given.startsWith(grpc) || !/^[+;]/.test(given.slice(grpc.length))) return undefined;
  return `${grpc}+${given.slice(grpc.length + 1)}`;
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** "100m" is a hundred milliseconds. Returns a message for an invalid timeout. */
function readTimeout(text: string): number | string {
  if (text.length < 2) return `transport: timeout string is too short: "${text}"`;
  if (text.length > 9) return `transport: timeout string is too long: "${text.slice(0, 20)}"`;
  const [amount, unit] = [text.slice(0, -1), unitMs[text.slice(-1)]];
  if (unit === undefined) return `transport: timeout unit is not recognized: "${text}"`;
  if (!/^\d+$/.test(amount)) return `strconv.ParseUint: parsing "${amount}": invalid syntax`;
  return Number(amount) * unit;
}

function noCall(http: number, code: number, message: string): NoCall {
  return { code, rejection: { ":status": http, "content-type": grpc, ...statusHeaders({ code, message }) } };
}

/** How often calls ended with each code. A method has one row, since there are thousands of calls a second. */
type Ends = number[];

const codes = Object.values(grpcCodes);

export function createCallEnds() {
  const row = (): Ends => codes.map(() => 0);
  const methods = new Map<string, Ends>();
  return {
    /** Of a registered method, by its path. */
    of(path: string): Ends {
      return methods.get(path) ?? methods.set(path, row()).get(path) ?? [];
    },
    /** Of calls to unknown methods. */
    others: row(),
    methods: methods as ReadonlyMap<string, readonly number[]>,
  };
}

export type CallEnds = ReturnType<typeof createCallEnds>;

export function countEnd(ends: Ends, code: number): void {
  ends[code] = (ends[code] ?? 0) + 1;
}

export const tooMuchHeld: GrpcStatus = {
  code: grpcCodes.ResourceExhausted,
  message: "too much is held for requests that are not answered yet",
};

/** Throws where the budget of the client is exhausted. */
export function hold(holding: ByteHolding, bytes: number): void {
  if (!holding.resize(bytes)) throw new GrpcError(tooMuchHeld.code, tooMuchHeld.message);
}

const clientLeft: GrpcStatus = { code: grpcCodes.Canceled, message: "the client left" };
const okTrailers = statusHeaders(grpcOk);

interface CallDeps {
  readonly clock: Clock;
  /** Clients that have not read what they were sent. */
  readonly stalled: DeadlineList<ServerHttp2Stream>;
  /** The status of what a method threw. */
  readonly failed: (thrown: unknown) => GrpcStatus;
}

interface CallOptions {
  readonly client: string;
  readonly budget: RequestBudget;
  /** Releases its headers from the budget. */
  readonly release: () => void;
  readonly ends: Ends;
}

/** The server's side of one call: messages out, then one status. Its bytes count until the stream is closed and its method has ended. */
export class ServerCall implements GrpcCall {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly head: RequestHead;
  readonly client: string;
  /** Of its request messages. */
  holding: ByteHolding;
  readonly #deps: CallDeps;
  readonly #options: CallOptions;
  #abort: AbortController | undefined;
  #status: GrpcStatus | undefined;
  #isMethodRunning = false;
  #isClosed = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    head: RequestHead,
    options: CallOptions,
    deps: CallDeps,
  ) {
    this.stream = stream;
    this.headers = headers;
    this.head = head;
    this.client = options.client;
    this.holding = options.budget.anonymous.open(options.client);
    this.#options = options;
    this.#deps = deps;
    stream.on("close", () => {
      this.#settle(clientLeft);
      this.#abort?.abort();
      this.#isClosed = true;
      this.#release();
    });
  }

  get path(): string {
    return this.head.path;
  }

  get socket(): Socket | undefined {
    return this.stream.session?.socket;
  }

  /** Made on demand: most unary methods need none. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.isOver) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  get isOver(): boolean {
    return this.#status !== undefined || isGone(this.stream);
  }

  /** Before its messages are read. */
  countFor(account: string | undefined): void {
    if (account !== undefined) this.holding = this.#options.budget.accounts.open(account);
  }

  /** Its bytes count at least until the method has ended. */
  keepUntil(answered: Promise<unknown>): void {
    this.#isMethodRunning = true;
    const end = () => {
      this.#isMethodRunning = false;
      this.#release();
    };
    answered.then(end, end);
  }

  #release(): void {
    if (this.#isMethodRunning || !this.#isClosed) return;
    this.holding.resize(0);
    this.#options.release();
  }

  /** Resolves when the connection had room for all of it, at once when the call is over. */
  async send(message: Uint8Array, headers?: OutgoingHttpHeaders): Promise<void> {
    if (this.isOver) return;
    const frame = await this.frameOf(message);
    if (this.isOver) return;
    if (!this.stream.headersSent) this.#respond(headers);
    const { stalled } = this.#deps;
    const waiting = stalled.begin(this.stream);
    // Also called, with an error, when the client leaves instead.
    await new Promise<void>((resolve) => this.stream.write(frame, () => resolve()));
    stalled.end(waiting);
  }

  /** The one message of a unary call. */
  sendLast(frame: Buffer, headers?: OutgoingHttpHeaders): void {
    if (isGone(this.stream) || !this.#settle(grpcOk)) return;
    const { stalled } = this.#deps;
    const waiting = stalled.begin(this.stream);
    this.#respond(headers);
    this.stream.on("close", () => stalled.end(waiting));
    this.stream.end(frame);
  }

  frameOf(message: Uint8Array): Buffer | Promise<Buffer> {
    return this.head.gzip ? framedGzip(message) : framed(message);
  }

  #respond(headers?: OutgoingHttpHeaders): void {
    this.stream.respond(answerHeaders(this.head, headers), { waitForTrailers: true });
    // No sooner than the event, or they would overtake the messages.
    this.stream.once("wantTrailers", () => {
      const status = this.#status ?? grpcOk;
      this.stream.sendTrailers(status === grpcOk ? okTrailers : statusHeaders(status));
      hangUp(this.stream, this.#deps.clock);
    });
  }

  /** Only the first end counts. */
  endWith(status: GrpcStatus, headers?: OutgoingHttpHeaders): void {
    if (!this.#settle(status)) return;
    if (this.stream.headersSent) this.stream.end();
    else rejectCall(this.stream, this.head, status, this.#deps.clock, headers);
    this.#abort?.abort();
  }

  fail(thrown: unknown): void {
    // Work for a client that has left may end with any error.
    if (this.isOver) return;
    this.endWith(this.#deps.failed(thrown), thrown instanceof GrpcError ? thrown.headers : undefined);
  }

  /** Also where the client reads nothing of what it was sent. */
  end(thrown: unknown): void {
    this.endWith(this.#deps.failed(thrown));
    const timer = this.#deps.clock.timer(streamFarewellMs, () => this.stream.close(constants.NGHTTP2_CANCEL));
    this.stream.once("close", () => timer.cancel());
  }

  /** Whether it was the first end. */
  #settle(status: GrpcStatus): boolean {
    if (this.#status) return false;
    this.#status = status;
    countEnd(this.#options.ends, status.code);
    return true;
  }
}

/** So that a client needs room for one, and only one of Node's four threads, which files and signatures need too, is taken. */
const unpackedAtOnce = 1;

export type Unpack = (packed: Uint8Array, call: ServerCall) => Promise<Uint8Array>;

/** Unpacks compressed requests one at a time, fairly by client: 4 KB may unpack to 4 MB, and a thousand of them fit one packet. */
export function createUnpacking(mostBytes: number): Unpack {
  const semaphore = createFairSemaphore(unpackedAtOnce);
  const left = () => new GrpcError(clientLeft.code, clientLeft.message);
  return (packed, { stream, client, holding }) =>
    semaphore(client, async () => {
      if (isGone(stream)) throw left();
      const before = holding.bytes;
      const bytes = Math.min(mostBytes, unpackedBytes(packed));
      hold(holding, before + bytes);
      const message = await gunzipMessage(packed, bytes);
      holding.resize(isGone(stream) ? 0 : before + message.length);
      if (isGone(stream)) throw left();
      return message;
    });
}

/** As gzip says it in its last four bytes; one that unpacks to more is rejected. */
function unpackedBytes(packed: Uint8Array): number {
  return packed.length < 4 ? 1 : Math.max(1, Buffer.from(packed.slice(-4)).readUInt32LE());
}

const usual: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc" };

function answerHeaders({ contentType, gzip }: RequestHead, more?: OutgoingHttpHeaders): OutgoingHttpHeaders {
  if (!gzip && !more && contentType === usual["content-type"]) return usual;
  return { ...usual, "content-type": contentType, ...(gzip && { "grpc-encoding": "gzip" }), ...more };
}

/** Without messages the status is in the headers. */
export function rejectCall(
  stream: ServerHttp2Stream,
  { contentType }: RequestHead,
  status: GrpcStatus,
  clock: Clock,
  headers?: OutgoingHttpHeaders,
): void {
  respondOnly(stream, clock, { ":status": 200, "content-type": contentType, ...headers, ...statusHeaders(status) });
}

/** A response of headers alone. */
export function respondOnly(stream: ServerHttp2Stream, clock: Clock, headers: OutgoingHttpHeaders): void {
  if (isGone(stream) || stream.headersSent) return;
  stream.respond(headers, { endStream: true });
  hangUp(stream, clock);
}

/** A reset stream is closed before it is destroyed, and writing to it is an error. */
export function isGone(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed;
}

/** The rest of the request is discarded. Closing the stream at once could overtake the response. */
function hangUp(stream: ServerHttp2Stream, clock: Clock): void {
  if (stream.readableEnded) return;
  stream.resume();
  void clock.yield().then(() => stream.close(constants.NGHTTP2_NO_ERROR));
}
