/** What the headers of a call say of how it is to be answered; or why it is no call, in the network's words and codes. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { ByteHolding, RequestBudget } from "../byte-budget.ts";
import type { Clock } from "../clock.ts";
import type { DeadlineList } from "../deadline-list.ts";
import { second } from "../durations.ts";
import { createFairSemaphore } from "../semaphore.ts";
import { framed, framedGzip, gunzipMessage } from "./framing.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes, grpcOk, statusHeaders } from "./grpc-status.ts";

/** A request is small, and whoever sends it has it ready. */
export const grpcRequestMs = 10 * second;

export interface RequestHead {
  readonly path: string;
  /** As the client said it; it gets the same back. */
  readonly contentType: string;
  /** Whether the client compresses, and so can read what is compressed. */
  readonly gzip: boolean;
  /** The time that the client gives; undefined when it has all the time in the world. */
  readonly timeoutMs: number | undefined;
}

/** Answered with headers alone. */
interface NoCall {
  /** The same as in the headers. */
  readonly code: number;
  readonly refusal: OutgoingHttpHeaders;
}

const grpc = "application/grpc";

export function readCallHead(headers: IncomingHttpHeaders): RequestHead | NoCall {
  const asked = headers["content-type"] ?? "";
  const contentType = asked === grpc ? grpc : answeredType(asked);
  // Probes of operators look for this very type in the answer to whatever they send.
  if (contentType === undefined) {
    return noCall(415, grpcCodes.InvalidArgument, `invalid gRPC request content-type "${asked}"`);
  }
  const method = headers[":method"];
  if (method !== "POST") {
    return noCall(405, grpcCodes.Internal, `Received a HEADERS frame with :method "${method}" which should be POST`);
  }
  const given = headers["grpc-timeout"];
  let timeoutMs: number | undefined;
  if (given !== undefined) {
    const read = readTimeout(String(given));
    if (typeof read === "string") return noCall(400, grpcCodes.Internal, `malformed grpc-timeout: ${read}`);
    timeoutMs = read;
  }
  return { path: headers[":path"] ?? "", contentType, gzip: headers["grpc-encoding"] === "gzip", timeoutMs };
}

/** "application/grpc+proto" and "application/grpc;proto" are answered alike; what goes on otherwise is something else. */
function answeredType(asked: string): string | undefined {
  if (!asked.startsWith(grpc) || !/^[+;]/.test(asked.slice(grpc.length))) return undefined;
  return `${grpc}+${asked.slice(grpc.length + 1)}`;
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** "100m" is a hundred milliseconds. What is wrong with it, in words, where it is no time. */
function readTimeout(text: string): number | string {
  if (text.length < 2) return `transport: timeout string is too short: "${text}"`;
  if (text.length > 9) return `transport: timeout string is too long: "${text.slice(0, 20)}"`;
  const [amount, unit] = [text.slice(0, -1), unitMs[text.slice(-1)]];
  if (unit === undefined) return `transport: timeout unit is not recognized: "${text}"`;
  if (!/^\d+$/.test(amount)) return `strconv.ParseUint: parsing "${amount}": invalid syntax`;
  return Number(amount) * unit;
}

function noCall(http: number, code: number, message: string): NoCall {
  return { code, refusal: { ":status": http, "content-type": grpc, ...statusHeaders({ code, message }) } };
}

/** So that a client needs room for one, and only one of Node's four threads, which files and signatures need too, is taken. */
const atOnce = 1;

/** What a call holds counts until its stream is closed, and longer where its method is not through by then. */
export class HeldCall {
  readonly stream: ServerHttp2Stream;
  readonly client: string;
  /** Its messages. */
  holding: ByteHolding;
  readonly #budget: RequestBudget;
  /** Releases its headers. */
  readonly #end: () => void;
  #isClosed = false;
  #isWaitedFor = false;

  constructor(stream: ServerHttp2Stream, client: string, budget: RequestBudget, end: () => void) {
    this.stream = stream;
    this.client = client;
    this.holding = budget.anonymous.open(client);
    this.#budget = budget;
    this.#end = end;
  }

  /** Before anything of its messages is read. */
  countFor(account: string | undefined): void {
    if (account !== undefined) this.holding = this.#budget.accounts.open(account);
  }

  keepUntil(answered: Promise<unknown>): void {
    this.#isWaitedFor = true;
    const end = () => {
      this.#isWaitedFor = false;
      this.#release();
    };
    answered.then(end, end);
  }

  /** Called when the stream is closed. */
  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #release(): void {
    if (this.#isWaitedFor || !this.#isClosed) return;
    this.holding.resize(0);
    this.#end();
  }
}

export type Unpack = (packed: Uint8Array, call: HeldCall) => Promise<Uint8Array>;

/** Unpacks compressed requests one at a time, clients in turn: 4 KB may unpack to 4 MB, and a thousand of them fit one packet. */
export function createUnpacking(mostBytes: number): Unpack {
  const inTurn = createFairSemaphore(atOnce);
  return (packed, { stream, client, holding }) =>
    inTurn(client, async () => {
      if (isGone(stream)) throw clientLeft();
      const before = holding.bytes;
      const bytes = Math.min(mostBytes, unpackedBytes(packed));
      hold(holding, before + bytes);
      const message = await gunzipMessage(packed, bytes);
      if (isGone(stream)) {
        holding.resize(0);
        throw clientLeft();
      }
      holding.resize(before + message.length);
      return message;
    });
}

/** As gzip says it in its last four bytes; one that unpacks to more is rejected. */
function unpackedBytes(packed: Uint8Array): number {
  return packed.length < 4 ? 1 : Math.max(1, Buffer.from(packed.slice(-4)).readUInt32LE());
}

const clientLeft = () => new GrpcRefusal(grpcCodes.Canceled, "the client left");

export const tooMuchHeld: GrpcStatus = {
  code: grpcCodes.ResourceExhausted,
  message: "too much is held for requests that are not answered yet",
};

/** Throws where there is no room. */
export function hold(holding: ByteHolding, bytes: number): void {
  if (!holding.resize(bytes)) throw new GrpcRefusal(tooMuchHeld.code, tooMuchHeld.message);
}

/** How often calls ended how. A method has a row of numbers, one per code: there are thousands of calls a second. */
export type Ends = number[];

export interface CallEnds {
  /** Of a method that there is, by its path. */
  of(path: string): Ends;
  /** Of all that asked for something else. */
  readonly others: Ends;
  readonly methods: ReadonlyMap<string, Readonly<Ends>>;
}

const codes = Object.values(grpcCodes);

export function createCallEnds(): CallEnds {
  const methods = new Map<string, Ends>();
  const row = (): Ends => codes.map(() => 0);
  return {
    of(path) {
      let ends = methods.get(path);
      if (!ends) {
        ends = row();
        methods.set(path, ends);
      }
      return ends;
    },
    others: row(),
    methods,
  };
}

export function countEnd(ends: Ends, code: number): void {
  ends[code] = (ends[code] ?? 0) + 1;
}

/** The server's side of one call: messages out, then a status; whichever comes first of that and the client's leaving. */
type AnswerHead = Pick<RequestHead, "contentType" | "gzip">;

export interface Reply {
  /** Resolves when the client's connection had room for all of it; at once when the call is over. */
  send(message: Uint8Array, headers?: OutgoingHttpHeaders): Promise<void>;
  /** Only the first end counts. */
  end(status?: GrpcStatus, headers?: OutgoingHttpHeaders): void;
  /** Aborted when the call is over, for whatever reason. */
  readonly over: AbortSignal;
}

interface ReplyDeps {
  readonly clock: Clock;
  /** Clients that have not taken what they were sent. */
  readonly stalled: DeadlineList<ServerHttp2Stream>;
  /** Of its method. */
  readonly ends: Ends;
}

const left: GrpcStatus = { code: grpcCodes.Canceled, message: "the client left" };

export function createReply(stream: ServerHttp2Stream, head: AnswerHead, { clock, stalled, ends }: ReplyDeps): Reply {
  const abort = new AbortController();
  let status: GrpcStatus | undefined;
  stream.once("close", () => {
    settle(left);
    abort.abort();
  });
  // No sooner than Node asks for them, or they would overtake the messages.
  stream.once("wantTrailers", () => {
    stream.sendTrailers(statusHeaders(status ?? grpcOk));
    hangUp(stream, clock);
  });

  /** Whether it was the first end. */
  function settle(ending: GrpcStatus): boolean {
    if (status) return false;
    status = ending;
    countEnd(ends, ending.code);
    return true;
  }

  return {
    async send(message, headers) {
      if (isGone(stream) || status) return;
      const frame = head.gzip ? await framedGzip(message) : framed(message);
      if (isGone(stream) || status) return;
      if (!stream.headersSent) stream.respond(answerHeaders(head, headers), { waitForTrailers: true });
      const waiting = stalled.begin(stream);
      // Also called, with an error, when the client leaves instead.
      await new Promise<void>((resolve) => stream.write(frame, () => resolve()));
      stalled.end(waiting);
    },
    end(ending = grpcOk, headers) {
      if (!settle(ending)) return;
      if (stream.headersSent) stream.end();
      else refuseCall(stream, head, ending, clock, headers);
      abort.abort();
    },
    over: abort.signal,
  };
}

const usual: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc" };

export function answerHeaders({ contentType, gzip }: AnswerHead, more?: OutgoingHttpHeaders): OutgoingHttpHeaders {
  if (!gzip && !more && contentType === usual["content-type"]) return usual;
  return { ...usual, "content-type": contentType, ...(gzip && { "grpc-encoding": "gzip" }), ...more };
}

/** Without a message the status stands in the headers already. */
export function refuseCall(
  stream: ServerHttp2Stream,
  { contentType }: AnswerHead,
  status: GrpcStatus,
  clock: Clock,
  headers?: OutgoingHttpHeaders,
): void {
  respondOnly(stream, clock, { ":status": 200, "content-type": contentType, ...headers, ...statusHeaders(status) });
}

/** An answer of headers alone. */
export function respondOnly(stream: ServerHttp2Stream, clock: Clock, headers: OutgoingHttpHeaders): void {
  if (isGone(stream) || stream.headersSent) return;
  stream.respond(headers, { endStream: true });
  hangUp(stream, clock);
}

/** A stream that was reset is closed some turns before it is destroyed, and to answer it then is an error. */
export function isGone(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed;
}

/** Whatever the client still sends is not looked at. Told so at once, it might not see its answer for that. */
function hangUp(stream: ServerHttp2Stream, clock: Clock): void {
  if (stream.readableEnded) return;
  stream.resume();
  void clock.yield().then(() => stream.close(constants.NGHTTP2_NO_ERROR));
}
