/** What the headers of a call say of how it is to be answered; or why it is no call, in the network's words and codes. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { grpcCodes, statusHeaders } from "./grpc-status.ts";

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

export function readHead(headers: IncomingHttpHeaders): RequestHead | NoCall {
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
