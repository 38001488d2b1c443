/**
 * Tenants' streams and gRPC. Logs and shells on the lab's real cluster (stream-rates.ts), GetStatus on the box (grpc-rates.ts);
 * the provider, the chain and the clients are each in a process of their own.
 */
import { measureGrpc } from "./grpc-rates.ts";
import { type Row, report } from "./report.ts";
import { measureStreams } from "./stream-rates.ts";

const bars = { logsRatio: 0.5, shellP50Ms: 3, shellFirstMs: 120, grpcPerS: 12_000, growthMb: 15 };

export async function bench(): Promise<void> {
  const rows: Row[] = [];
  const { grpcPerS, grpcPerS100, growthMb, rssMb } = await measureGrpc(rows);
  const { logsRatio, shellP50Ms, shellFirstMs } = await measureStreams(rows);
  const flat = growthMb <= bars.growthMb;
  const measured = { logsRatio, shellP50Ms, shellFirstMs, grpcPerS, grpcPerS100, flat, rssMb };
  report("streams: logs and shells on the lab, gRPC on the box", rows, { bench: "streams", ...measured });
  const misses = [
    logsRatio < bars.logsRatio && `logs come at ${logsRatio} of kubectl's pace`,
    shellP50Ms > bars.shellP50Ms && `an echo takes ${shellP50Ms} ms`,
    shellFirstMs > bars.shellFirstMs && `the first echo takes ${shellFirstMs} ms`,
    grpcPerS < bars.grpcPerS && `${grpcPerS} calls a second with one lease`,
    grpcPerS100 < bars.grpcPerS && `${grpcPerS100} calls a second with a hundred`,
    !flat && "memory grows with calls",
  ].filter((miss) => miss !== false);
  if (misses.length > 0) throw new Error(misses.join("; "));
}
