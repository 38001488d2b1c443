/** The time that a client gives its call: "100m" is a hundred milliseconds, "2M" two minutes. */
import type { IncomingHttpHeaders } from "node:http2";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Undefined when it has all the time in the world. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const text = headers["grpc-timeout"];
  if (text === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(text)) ?? [];
  if (amount === undefined) {
    throw new GrpcRefusal(grpcCodes.InvalidArgument, `grpc-timeout is no time: ${String(text)}`);
  }
  return Number(amount) * (unitMs[unit] ?? 0);
}
