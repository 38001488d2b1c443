/**
 * The process that the inventory benchmark measures: the whole operator with its listeners, as it runs beside a provider.
 * There are no machines behind fake nodes, so nothing is discovered on them. `node bench/inventory-process.ts KUBECONFIG`;
 * it reports its measurements to its parent.
 */
import { once } from "node:events";
import { createMemoryBus } from "../src/bus/memory.ts";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { startInventory } from "../src/operators/inventory/inventory-service.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import type { Scope } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createMetrics } from "../src/runtime/metrics.ts";
import { realRandom } from "../src/runtime/random.ts";
import { serveParent } from "./processes.ts";
import { cpuMs, size } from "./report.ts";

export type Report =
  /** The first whole snapshot was published, and later the last label written. */
  | { readonly what: "first"; readonly seconds: number; readonly nodes: number }
  | { readonly what: "quiet" }
  /** Nodes of which more is taken in a published snapshot, by the clock that all processes of a machine share. */
  | { readonly what: "published"; readonly nodes: readonly string[]; readonly atNs: bigint }
  | { readonly what: "cost"; readonly cpuMs: number; readonly peakMb: number };

const sendReport = serveParent<never, Report>();
const [kubeconfig = ""] = process.argv.slice(2);
const deps = { clock: realClock, random: realRandom, log: silentLog };
const kube = createHttpKube({ kubeconfig, fieldManager: "akash-operator-inventory" }, deps);
const metrics = createMetrics();
const stopping = new AbortController();
const tasks: Promise<void>[] = [];
const scope: Scope = {
  signal: stopping.signal,
  task: (_, work) => void tasks.push(work(stopping.signal)),
  onStop: () => undefined,
};
const options = {
  config: undefined,
  registry: undefined,
  registryPeriodMs: 300_000,
  discovery: undefined,
  host: "127.0.0.1",
  restPort: 0,
  grpcPort: 0,
  apiTimeoutMs: 3_000,
  version: "bench",
};
const bus = createMemoryBus(deps);
const { operator, publisher } = await startInventory(options, { ...deps, kube, bus, metrics }, scope);

const first = await publisher.next(undefined, stopping.signal);
sendReport({ what: "first", seconds: performance.now() / 1_000, nodes: first.inventory.nodes.length });
// The start is over when all labels are written and nothing more came of that.
for (let published = -1; isLabelling() || publisher.publishedCount !== published; ) {
  published = publisher.publishedCount;
  await sleep(realClock, size(2_000, 500));
}
sendReport({ what: "quiet" });

const requested = once(process, "message");
const startedCpuMs = cpuMs();
const followed = publisher.published;
const cpuOf = new Map(followed?.inventory.nodes.map(({ name, cpuMilli }) => [name, cpuMilli.allocated]));
const following = (async () => {
  for (let last = followed; ; ) {
    last = await publisher.next(last, stopping.signal);
    const atNs = process.hrtime.bigint();
    const nodes: string[] = [];
    for (const { name, cpuMilli } of last.inventory.nodes) {
      if (cpuOf.get(name) === cpuMilli.allocated) continue;
      cpuOf.set(name, cpuMilli.allocated);
      nodes.push(name);
    }
    sendReport({ what: "published", nodes, atNs });
  }
})();
following.catch(() => undefined);
await requested;
sendReport({ what: "cost", cpuMs: cpuMs() - startedCpuMs, peakMb: process.resourceUsage().maxRSS / 1_024 });
process.disconnect();

function isLabelling(): boolean {
  const counts = operator.queues.find(({ name }) => name === "labels")?.counts;
  return counts !== undefined && counts.ready + counts.running + counts.delayed > 0;
}
