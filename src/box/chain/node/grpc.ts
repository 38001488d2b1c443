/** The node's gRPC server: every query path is a unary method with opaque bytes, without service descriptors. */
import type { IncomingHttpHeaders } from "node:http2";
import type { Clock } from "../../../runtime/clock.ts";
import { createGrpcServer, type GrpcServer } from "../../../runtime/grpc/grpc-server.ts";
import { GrpcError, type GrpcStatus, grpcCodes, grpcOk } from "../../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../../runtime/grpc/methods.ts";
import type { Log } from "../../../runtime/log.ts";
import type { QueryResult } from "../abci.ts";
import type { QueryRouter } from "./query-router.ts";

export const chainConnections = 900;
/** The largest request that the SDK's gRPC server takes. */
export const chainGrpcRequestBytes = 10 * 1024 * 1024;
/** Calls at once on one gRPC connection; clients queue the rest. */
export const chainGrpcStreams = 100;

const heightHeader = "x-cosmos-block-height";

export function createNodeGrpc(queries: QueryRouter, clock: Clock, log: Log): GrpcServer {
  const method: GrpcMethod = {
    kind: "unary",
    answer(request, { path, headers: metadata }) {
      const result = queries.query(path, request, heightOf(metadata));
      const { code, message } = statusOf(result);
      const headers = { [heightHeader]: `${result.height}` };
      if (code !== grpcCodes.OK) throw new GrpcError(code, message, headers);
      return { message: result.value, headers };
    },
  };
  return createGrpcServer({
    methods: { find: (path) => (queries.has(path) ? method : undefined), hasService: queries.hasService },
    bounds: {
      connections: chainConnections,
      calls: chainGrpcStreams,
      streams: 0,
      requestBytes: chainGrpcRequestBytes,
    },
    clock,
    log,
  });
}

function heightOf(headers: IncomingHttpHeaders): bigint {
  const text = headers[heightHeader];
  if (text === undefined) return 0n;
  if (typeof text === "string" && /^\d{1,18}$/.test(text)) return BigInt(text);
  throw new GrpcError(grpcCodes.InvalidArgument, `invalid height header "${heightHeader}": ${String(text)}`);
}

/** Codes of the SDK that stand for one status each. */
const sdkCodes: Record<number, number> = {
  4: grpcCodes.Unauthenticated,
  18: grpcCodes.InvalidArgument,
  22: grpcCodes.NotFound,
  38: grpcCodes.NotFound,
};

/**
 * A query handler fails with a status; on its way through ABCI it is wrapped into words: "rpc error: code = NotFound
 * desc = order not found: key not found". Over gRPC the original status is sent.
 */
function statusOf({ code, codespace, log }: QueryResult): GrpcStatus {
  if (code === 0) return grpcOk;
  const wrapped =
    /^rpc error: code = (\w+) desc = (.*?)(?:: (?:key not found|invalid request|unauthorized|unknown request))?$/s.exec(
      log,
    );
  const name = wrapped?.[1] as keyof typeof grpcCodes | undefined;
  if (name && name in grpcCodes) return { code: grpcCodes[name], message: wrapped?.[2] ?? "" };
  return { code: (codespace === "sdk" && sdkCodes[code]) || grpcCodes.Unknown, message: log };
}
