/** How an answer of the application becomes a gRPC status. */
import { type GrpcStatus, grpcCodes, grpcOk } from "../../../runtime/grpc/grpc-status.ts";
import type { QueryResult } from "../abci.ts";

/** Codes of the SDK that stand for one status each. */
const sdkCodes: Record<number, number> = {
  4: grpcCodes.Unauthenticated,
  18: grpcCodes.InvalidArgument,
  22: grpcCodes.NotFound,
  38: grpcCodes.NotFound,
};

/**
 * A query handler fails with a status; on its way through ABCI it is wrapped into words: "rpc error: code = NotFound
 * desc = order not found: key not found". Over gRPC the status is told as it was.
 */
export function statusOf({ code, codespace, log }: QueryResult): GrpcStatus {
  if (code === 0) return grpcOk;
  const wrapped =
    /^rpc error: code = (\w+) desc = (.*?)(?:: (?:key not found|invalid request|unauthorized|unknown request))?$/s.exec(
      log,
    );
  const name = wrapped?.[1] as keyof typeof grpcCodes | undefined;
  if (name && name in grpcCodes) return { code: grpcCodes[name], message: wrapped?.[2] ?? "" };
  return { code: (codespace === "sdk" && sdkCodes[code]) || grpcCodes.Unknown, message: log };
}
