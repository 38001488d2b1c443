/** How the queues of a process do, each under its name. */
import type { Metrics } from "./metrics.ts";
import type { Queue } from "./queue.ts";

const name = "akash_provider_queue";

export function measureQueues(metrics: Metrics, queues: () => readonly Queue[]): void {
  const outcomesHelp = "Runs of the queue's work, by outcome";
  metrics.read(
    { name: `${name}_outcomes_total`, help: outcomesHelp, kind: "counter", labels: ["queue", "outcome"] },
    () =>
      queues().flatMap(({ name: queue, counts }) =>
        Object.entries(counts.outcomes).map(([outcome, count]) => [{ queue, outcome }, count] as const),
      ),
  );
  const keysHelp = "Keys in the queue, by state";
  metrics.read({ name: `${name}_keys`, help: keysHelp, kind: "gauge", labels: ["queue", "state"] }, () =>
    queues().flatMap(({ name: queue, counts }) =>
      (["ready", "running", "delayed"] as const).map((state) => [{ queue, state }, counts[state]] as const),
    ),
  );
  const refusedHelp = "Keys refused because the queue was full";
  metrics.read({ name: `${name}_refused_total`, help: refusedHelp, kind: "counter", labels: ["queue"] }, () =>
    queues().map(({ name: queue, counts }) => [{ queue }, counts.refused]),
  );
  const oldestHelp = "Duration of the longest run in progress";
  metrics.read({ name: `${name}_oldest_run_seconds`, help: oldestHelp, kind: "gauge", labels: ["queue"] }, () =>
    queues().map(({ name: queue, counts }) => [{ queue }, counts.oldestRunMs / 1_000]),
  );
}
