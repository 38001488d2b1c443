/** Status codes and messages of gRPC calls. */
import type { OutgoingHttpHeaders } from "node:http2";
import { ProviderError, reasonOf } from "../errors.ts";
import type { Codec } from "../protobuf.ts";

/** Limit of a status message. It is a header and may repeat the request; a longer one would end the connection. */
export const grpcStatusChars = 2_048;

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

export const grpcOk: GrpcStatus = { code: grpcCodes.OK, message: "" };

/** Ends a call with a status other than OK. */
export class GrpcError extends Error {
  readonly code: number;
  /** Metadata that the client gets with it. */
  readonly headers: OutgoingHttpHeaders;

  constructor(code: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** With grpc-go's message. */
export function late(): GrpcError {
  return new GrpcError(grpcCodes.DeadlineExceeded, "context deadline exceeded");
}

export function readRequest<T>(name: string, codec: Codec<T>, request: Uint8Array): T {
  try {
    return codec.decode(request);
  } catch (thrown) {
    throw new GrpcError(grpcCodes.Internal, `grpc: error unmarshalling request: no ${name}: ${reasonOf(thrown)}`);
  }
}

/** By the names of the error catalogue: "NOT_FOUND". */
const codesByName = new Map(
  Object.entries(grpcCodes).map(([name, code]) => [name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase(), code]),
);

export function statusOfThrown(thrown: unknown): GrpcStatus {
  if (thrown instanceof GrpcError) return { code: thrown.code, message: thrown.message };
  if (!(thrown instanceof ProviderError)) return { code: grpcCodes.Internal, message: reasonOf(thrown) };
  const code = codesByName.get(thrown.entry.grpc) ?? grpcCodes.Unknown;
  return { code, message: `${thrown.message} (${thrown.code})` };
}

export function statusHeaders({ code, message }: GrpcStatus): OutgoingHttpHeaders {
  return { "grpc-status": `${code}`, "grpc-message": encodeMessage(message.slice(0, grpcStatusChars)) };
}

/** For the grpc-message header: other than printable ASCII is percent-encoded. */
function encodeMessage(message: string): string {
  const plain = (byte: number) => byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  const encode = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return Array.from(Buffer.from(message), (byte) => (plain(byte) ? String.fromCharCode(byte) : encode(byte))).join("");
}
