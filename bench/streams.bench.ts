/**
 * Tenants' streams and gRPC. Logs and shells on the lab's real cluster (stream-rates.ts), GetStatus on the box (grpc-rates.ts);
 * the provider, the chain and the clients are each in a process of their own.
 */
import { measureGrpc } from "./grpc-rates.ts";
import { type Row, report } from "./report.ts";
import { measureStreams } from "./stream-rates.ts";

/** More, and memory is not flat. */
const mostGrowthMb = 15;

export async function bench(): Promise<void> {
  const rows: Row[] = [];
  const { grpcPerS, grpcPerS100, growthMb, rssMb } = await measureGrpc(rows);
  const { logsRatio, shellP50Ms, shellFirstMs } = await measureStreams(rows);
  const flat = growthMb <= mostGrowthMb;
  const measured = { logsRatio, shellP50Ms, shellFirstMs, grpcPerS, grpcPerS100, flat, rssMb };
  const bars = "logs at least 0.5 of kubectl's, an echo in 3 ms, the first in 120, 12,000 calls a second";
  report(`streams: logs and shells on the lab, gRPC on the box; ${bars}`, rows, { bench: "streams", ...measured });
}
