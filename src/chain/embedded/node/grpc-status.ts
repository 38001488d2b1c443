/** How an answer of the application becomes a gRPC status. */
import type { QueryResult } from "../abci.ts";

export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

export const grpcCodes = {
  OK: 0,
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;

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
  if (code === 0) return { code: grpcCodes.OK, message: "" };
  const wrapped =
    /^rpc error: code = (\w+) desc = (.*?)(?:: (?:key not found|invalid request|unauthorized|unknown request))?$/s.exec(
      log,
    );
  const name = wrapped?.[1] as keyof typeof grpcCodes | undefined;
  if (name && name in grpcCodes) return { code: grpcCodes[name], message: wrapped?.[2] ?? "" };
  return { code: (codespace === "sdk" && sdkCodes[code]) || grpcCodes.Unknown, message: log };
}

/** Text for the grpc-message trailer: what is not plain ASCII travels percent-encoded. */
export function encodeMessage(message: string): string {
  const plain = (byte: number) => byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  const encode = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return Array.from(Buffer.from(message), (byte) => (plain(byte) ? String.fromCharCode(byte) : encode(byte))).join("");
}
