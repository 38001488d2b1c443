/**
 * Tenants' streams and gRPC. Logs and shells on the lab's real cluster (stream-rates.ts), GetStatus on the box (grpc-rates.ts);
 * the provider, the chain and the clients are each in a process of their own.
 */
import { measureGrpc } from "./grpc-rates.ts";
import { type Row, report } from "./report.ts";
import { measureStreams } from "./stream-rates.ts";

/** More, and memory is not flat. */
const mostGrowthMb = 15;
/** There is no baseline for shells and gRPC, so their bars are absolute. */
const bars = {
  logsRatio: ["≥", 0.5],
  shellP50Ms: ["≤", 3],
  shellFirstMs: ["≤", 120],
  grpcPerS: ["≥", 12_000],
  grpcPerS100: ["≥", 12_000],
  flat: ["=", true],
} as const;

export async function bench(): Promise<void> {
  const rows: Row[] = [];
  const { grpcPerS, grpcPerS100, growthMb, rssMb } = await measureGrpc(rows);
  const { logsRatio, shellP50Ms, shellFirstMs } = await measureStreams(rows);
  const flat = growthMb <= mostGrowthMb;
  const measured = { logsRatio, shellP50Ms, shellFirstMs, grpcPerS, grpcPerS100, flat, rssMb };
  report("streams: logs and shells on the lab, gRPC on the box", rows, { bench: "streams", ...measured }, bars);
}
