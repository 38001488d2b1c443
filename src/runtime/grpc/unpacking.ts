/**
 * Unpacks compressed requests, one at a time and clients in turn: four kilobytes may unpack to four megabytes, and a thousand
 * of them come in one packet.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Holding } from "../byte-budget.ts";
import { createFairTurns } from "../fair-turns.ts";
import { gunzipMessage } from "./framing.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes } from "./grpc-status.ts";
import { isGone } from "./reply.ts";

/** So that a client needs room for one, and only one of Node's four threads, which files and signatures need too, is taken. */
const atOnce = 1;

export interface HeldCall {
  readonly stream: ServerHttp2Stream;
  readonly client: string;
  readonly holding: Holding;
}

export type Unpack = (packed: Uint8Array, call: HeldCall, authenticate: () => unknown) => Promise<Uint8Array>;

export function createUnpacking(mostBytes: number): Unpack {
  const inTurn = createFairTurns(atOnce);
  return async (packed, { stream, client, holding }, authenticate) => {
    await authenticate();
    return inTurn(client, async () => {
      if (isGone(stream)) throw new GrpcRefusal(grpcCodes.Canceled, "the client left");
      const before = holding.bytes;
      hold(holding, before + mostBytes);
      const message = await gunzipMessage(packed, mostBytes);
      holding.resize(isGone(stream) ? 0 : before + message.length);
      return message;
    });
  };
}

export const tooMuchHeld: GrpcStatus = {
  code: grpcCodes.ResourceExhausted,
  message: "too much is held for requests that are not answered yet",
};

/** Throws where there is no room. */
export function hold(holding: Holding, bytes: number): void {
  if (!holding.resize(bytes)) throw new GrpcRefusal(tooMuchHeld.code, tooMuchHeld.message);
}
