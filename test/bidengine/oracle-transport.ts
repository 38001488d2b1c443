/** A way to a node of the box whose chain has an oracle too, of whichever version, saying what a test wants. */
import { QueryAggregatedPriceRequest } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { RpcTransport } from "../../src/chain/comet/transport.ts";
import {
  int32,
  int64,
  messageOf,
  nanoseconds,
  optional,
  repeated,
  required,
  text,
} from "../../src/runtime/protobuf.ts";

/** Every field of it, also those that we do not read. */
const answer = messageOf({
  price: optional(
    1,
    messageOf({
      denom: required(1, text, ""),
      twap: required(2, text, ""),
      median: required(3, text, ""),
      least: required(4, text, ""),
      most: required(5, text, ""),
      timeNs: optional(6, nanoseconds),
      sources: int32(7),
      deviationBps: int64(8),
    }),
  ),
  health: optional(
    2,
    messageOf({
      denom: required(1, text, ""),
      isHealthy: int32(3),
      hasSources: int32(4),
      deviationOk: int32(5),
      sources: int32(6),
      healthySources: int32(7),
      failures: repeated(8, text),
    }),
  ),
});

export interface OracleState {
  /** Undefined where the chain has none. */
  version: "v1" | "v2" | undefined;
  /** As on the wire: a whole number of 10⁻¹⁸ths. Undefined without any price yet. */
  atto: string | undefined;
  atMs: number;
  /** Reasons why the price is unhealthy. */
  failures: string[];
  /** The error of failing nodes. */
  broken: string | undefined;
  /** The queried paths. */
  readonly paths: string[];
}

export function createOracleState(atMs: number): OracleState {
  return { version: "v2", atto: "500000000000000000", atMs, failures: [], broken: undefined, paths: [] };
}

export function answerBytes({ atto = "", atMs, failures }: OracleState, denom = "akt"): Uint8Array {
  const isHealthy = failures.length === 0 ? 1 : 0;
  return answer.encode({
    price: {
      denom,
      twap: atto,
      ...{ median: "1", least: "2", most: "3", timeNs: BigInt(atMs) * 1_000_000n, sources: 2, deviationBps: 7n },
    },
    health: { denom, isHealthy, hasSources: 1, deviationOk: isHealthy, sources: 3, healthySources: 2, failures },
  });
}

export function oracleTransport(inner: RpcTransport, oracle: OracleState): RpcTransport {
  return {
    ...inner,
    async send(request, bounds) {
      const { id, params } = JSON.parse(request.text) as { id: unknown; params: { path?: string; data?: string } };
      const { path = "", data = "" } = params;
      if (!path.startsWith("/akash.oracle.")) return inner.send(request, bounds);
      oracle.paths.push(path);
      const response = respond(oracle, path, Buffer.from(data, "hex"));
      // A chain without this oracle is the box's own: it says so itself.
      if (!response) return inner.send(request, bounds);
      return { status: 200, body: JSON.stringify({ jsonrpc: "2.0", id, result: { response } }) };
    },
  };
}

function respond(oracle: OracleState, path: string, request: Uint8Array): object | undefined {
  if (path !== `/akash.oracle.${oracle.version}.Query/AggregatedPrice`) return undefined;
  if (oracle.broken !== undefined) return { code: 1, codespace: "undefined", log: oracle.broken, height: "0" };
  const { denom } = QueryAggregatedPriceRequest.decode(request);
  if (oracle.atto === undefined || denom !== "akt") {
    const log = `collections: not found: key '${denom}' of type github.com/cosmos/gogoproto/x: invalid request`;
    return { code: 18, codespace: "sdk", log, height: "0" };
  }
  return { code: 0, codespace: "", log: "", value: Buffer.from(answerBytes(oracle)).toString("base64"), height: "7" };
}
