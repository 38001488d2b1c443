/**
 * Unpacks compressed requests, one at a time and clients in turn: four kilobytes may unpack to four megabytes, and a thousand
 * of them come in one packet.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Holding, RequestBudget } from "../byte-budget.ts";
import { createFairTurns } from "../fair-turns.ts";
import { gunzipMessage } from "./framing.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes } from "./grpc-status.ts";
import { isGone } from "./reply.ts";

/** So that a client needs room for one, and only one of Node's four threads, which files and signatures need too, is taken. */
const atOnce = 1;

/** What a call holds counts until its stream is closed, and longer where its method is not through by then. */
export class HeldCall {
  readonly stream: ServerHttp2Stream;
  readonly client: string;
  /** Its messages. */
  holding: Holding;
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

export function createUnpacking(mostBytes: number): Unpack {
  const inTurn = createFairTurns(atOnce);
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
export function hold(holding: Holding, bytes: number): void {
  if (!holding.resize(bytes)) throw new GrpcRefusal(tooMuchHeld.code, tooMuchHeld.message);
}
