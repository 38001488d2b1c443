/** Which counts of the parts become metrics. The parts know nothing of it. */
import type { Bus } from "../bus/bus.ts";
import type { TopicCounts } from "../bus/tally.ts";
import type { CometChain } from "../chain/comet/comet-chain.ts";
import type { Outbox } from "../chain/outbox/outbox.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube, WatchCache } from "../kube/kube.ts";
import type { NodeInventory } from "../operators/inventory/inventory.ts";
import type { InventoryService } from "../operators/inventory/inventory-service.ts";
import type { Lifecycle } from "../runtime/lifecycle.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";

/** Runs the services; whatever happens, the metrics end with them. */
export async function runMeasured(lifecycle: Lifecycle, metrics: Metrics, signal: AbortSignal): Promise<void> {
  try {
    await lifecycle.run(signal);
  } finally {
    metrics.stop();
  }
}

export function measureLifecycle(metrics: Metrics, lifecycle: Lifecycle): void {
  const help = "1 for the state that each service is in: init, running, shutdown or done";
  metrics.read({ name: "akash_provider_service_state", help, kind: "gauge", labels: ["service", "state"] }, () =>
    lifecycle.services.map(({ name, state }) => [{ service: name, state }, 1]),
  );
}

export function measureJournal(metrics: Metrics, journal: Journal): void {
  const counters = [
    ["commits", "Transactions committed to the journal", () => journal.counts.commits],
    ["units", "Units of work written to the journal", () => journal.counts.units],
    ["failed_units", "Units of work that the journal refused", () => journal.counts.failed],
  ] as const;
  for (const [name, help, value] of counters) {
    metrics.read({ name: `akash_provider_journal_${name}_total`, help, kind: "counter" }, value);
  }
  const gauges = [
    ["bytes", "What the journal takes on disk", () => journal.bytes()],
    ["waiting_units", "Units of work that wait for their commit", () => journal.counts.waiting],
    ["sync_seconds", "How long the last durable commit took", () => journal.counts.syncLastMs / 1_000],
    ["sync_most_seconds", "How long the slowest durable commit took", () => journal.counts.syncMostMs / 1_000],
  ] as const;
  for (const [name, help, value] of gauges) {
    metrics.read({ name: `akash_provider_journal_${name}`, help, kind: "gauge" }, value);
  }
  metrics.read({ name: "akash_provider_journal_rows", help: "Rows by table", kind: "gauge", labels: ["table"] }, () =>
    Object.entries(journal.rows()).map(([table, rows]) => [{ table }, rows]),
  );
}

export function measureBus(metrics: Metrics, bus: Bus): void {
  const counters: [Exclude<keyof TopicCounts, "retained" | "lastId" | "lastAtMs">, string][] = [
    ["published", "Messages published"],
    ["delivered", "Messages handed to subscribers"],
    ["dropped", "Messages that a subscriber or Redis missed because a bound was reached"],
    ["failed", "Messages whose handler failed"],
    ["malformed", "Messages from outside that made no sense"],
  ];
  for (const [count, help] of counters) {
    const name = `akash_provider_bus_${count}_total`;
    metrics.read({ name, help, kind: "counter", labels: ["topic"] }, () =>
      [...bus.counts].map(([topic, counts]) => [{ topic }, counts[count]]),
    );
  }
  const help = "1 while the bus is connected";
  metrics.read({ name: "akash_provider_bus_connected", help, kind: "gauge" }, () =>
    bus.state.state === "connected" ? 1 : 0,
  );
}

export function measureKube(metrics: Metrics, kube: Kube): void {
  const counters = [
    ["requests", "Requests to the API server"],
    ["retries", "Requests that were sent again"],
    ["applied", "Objects written by server-side apply"],
    ["unchanged", "Applies that had nothing to write"],
  ] as const;
  for (const [count, help] of counters) {
    metrics.read({ name: `akash_provider_kube_${count}_total`, help, kind: "counter" }, () => kube.counts[count]);
  }
  measureWatches(metrics, kube);
}

function measureWatches(metrics: Metrics, kube: Kube): void {
  const name = "akash_provider_kube_watch";
  const labels = ["resource"] as const;
  const ageHelp = "How long ago the server was last heard of; of several watches, the oldest";
  metrics.read({ name: `${name}_age_seconds`, help: ageHelp, kind: "gauge", labels }, () =>
    perResource(kube, ({ ageMs }) => ageMs / 1_000, Math.max),
  );
  const objectsHelp = "Objects in caches";
  metrics.read({ name: `${name}_objects`, help: objectsHelp, kind: "gauge", labels }, () =>
    perResource(kube, ({ size }) => size, add),
  );
  const counters = [
    ["events", "events", "Changes that the server told"],
    ["relists", "relists", "Lists after the first: the version we had was gone or in doubt"],
    ["silences", "silences", "Connections that were silent for too long"],
    ["errors", "errors", "Lists and watches that failed or broke off"],
    ["handler_errors", "handlerErrors", "Changes that could not be read or handled"],
  ] as const;
  for (const [counter, count, help] of counters) {
    metrics.read({ name: `${name}_${counter}_total`, help, kind: "counter", labels }, () =>
      perResource(kube, ({ counts }) => counts[count], add),
    );
  }
}

function perResource(
  { watches }: Kube,
  read: (cache: WatchCache<unknown>) => number,
  together: (a: number, b: number) => number,
) {
  const values = new Map<string, number>();
  for (const cache of watches) {
    const { resource } = cache;
    values.set(resource, together(values.get(resource) ?? 0, read(cache)));
  }
  return [...values].map(([resource, value]) => [{ resource }, value] as const);
}

function add(a: number, b: number): number {
  return a + b;
}

export function measureInventory(metrics: Metrics, { operator, publisher, grpc }: InventoryService): void {
  const name = "akash_provider_inventory";
  const nodes = () => operator.inventory?.nodes ?? [];
  const gauges = [
    ["age_seconds", "How long ago the cluster was last heard of", () => operator.ageMs / 1_000],
    ["ready", "1 once there was a whole picture", () => (publisher.ready ? 1 : 0)],
    ["streams", "gRPC calls that are told of each change", () => grpc.streams],
    ["pods", "Pods that are counted", () => operator.counts.tally.pods],
  ] as const;
  for (const [gauge, help, value] of gauges) metrics.read({ name: `${name}_${gauge}`, help, kind: "gauge" }, value);
  const counters = [
    ["pictures", "Pictures made of the cluster", () => operator.counts.pictures],
    ["published", "Changes that were published", () => publisher.counts.published],
    ["drifts", "Nodes whose use a recount found wrong", () => operator.counts.tally.drifts],
    ["labelled", "Writes of a node's labels", () => operator.counts.labels.written],
    ["registry_failures", "Failed reads of the GPU registry", () => operator.counts.registry.failures],
    ["ceph_failures", "Failed questions to Ceph", () => operator.counts.storage.cephFailed],
  ] as const;
  for (const [counter, help, value] of counters) {
    metrics.read({ name: `${name}_${counter}_total`, help, kind: "counter" }, value);
  }
  const nodesHelp = "Nodes by whether they are offered";
  metrics.read({ name: `${name}_nodes`, help: nodesHelp, kind: "gauge", labels: ["offered"] }, () =>
    [true, false].map((offered) => [
      { offered: String(offered) },
      nodes().filter((node) => node.offered === offered).length,
    ]),
  );
  const amountsHelp = "What the offered nodes have and what of it is taken: cpus, bytes, pieces";
  const labels = ["resource", "amount"] as const;
  metrics.read({ name: `${name}_resources`, help: amountsHelp, kind: "gauge", labels }, () =>
    resourceSums(nodes().filter(({ offered }) => offered)),
  );
}

/** Metrics are floats; for sums of bytes and cpus that is exact enough. */
function resourceSums(nodes: readonly NodeInventory[]) {
  const resources = [
    ["cpu", "cpuMilli", 1_000],
    ["memory", "memoryBytes", 1],
    ["ephemeral-storage", "ephemeralBytes", 1],
    ["gpu", "gpus", 1],
  ] as const;
  return resources.flatMap(([resource, field, perUnit]) =>
    (["allocatable", "allocated"] as const).map((amount) => {
      const sum = nodes.reduce((total, node) => total + node[field][amount], 0n);
      return [{ resource, amount }, Number(sum) / perUnit] as const;
    }),
  );
}

export function measureQueues(metrics: Metrics, queues: readonly Queue[]): void {
  const name = "akash_provider_queue";
  metrics.read(
    { name: `${name}_outcomes_total`, help: "Runs by outcome", kind: "counter", labels: ["queue", "outcome"] },
    () =>
      queues.flatMap(({ name: queue, counts }) =>
        Object.entries(counts.outcomes).map(([outcome, count]) => [{ queue, outcome }, count] as const),
      ),
  );
  metrics.read({ name: `${name}_keys`, help: "Keys by state", kind: "gauge", labels: ["queue", "state"] }, () =>
    queues.flatMap(({ name: queue, counts }) =>
      (["ready", "running", "delayed"] as const).map((state) => [{ queue, state }, counts[state]] as const),
    ),
  );
  metrics.read(
    {
      name: `${name}_refused_total`,
      help: "Keys refused because the queue was full",
      kind: "counter",
      labels: ["queue"],
    },
    () => queues.map(({ name: queue, counts }) => [{ queue }, counts.refused]),
  );
  metrics.read(
    {
      name: `${name}_oldest_run_seconds`,
      help: "How long the oldest run under way has taken",
      kind: "gauge",
      labels: ["queue"],
    },
    () => queues.map(({ name: queue, counts }) => [{ queue }, counts.oldestRunMs / 1_000]),
  );
}

export function measureChain(metrics: Metrics, chain: CometChain): void {
  const gauges = [
    ["height", "Last block that was worked through", () => Number(chain.height)],
    ["head_height", "Newest block that a node told of", () => Number(chain.status.head ?? 0n)],
    ["block_seconds", "Time between blocks, on average", () => chain.status.blockTimeMs / 1_000],
    ["mirror_ready", "1 once the mirror was built", () => (chain.mirror.ready ? 1 : 0)],
    ["mirror_age_seconds", "Age of the mirror's block", () => (chain.status.mirrorAgeMs ?? 0) / 1_000],
  ] as const;
  for (const [name, help, value] of gauges) {
    metrics.read({ name: `akash_provider_chain_${name}`, help, kind: "gauge" }, value);
  }
  const counters = { ...chain.counts.follower };
  for (const count of Object.keys(counters) as (keyof typeof counters)[]) {
    const name = `akash_provider_chain_${snake(count)}_total`;
    const help = `What the follower counted as ${snake(count).replaceAll("_", " ")}`;
    metrics.read({ name, help, kind: "counter" }, () => chain.counts.follower[count]);
  }
  const help = "1 for the condition that each node is in";
  metrics.read(
    { name: "akash_provider_chain_node_condition", help, kind: "gauge", labels: ["node", "condition"] },
    () => chain.status.nodes.map(({ condition }, index) => [{ node: `${index + 1}`, condition }, 1]),
  );
}

export function measureOutbox(metrics: Metrics, outbox: Outbox): void {
  metrics.read(
    { name: "akash_provider_outbox_owed", help: "Intents that are not settled", kind: "gauge" },
    () => outbox.counts.owed,
  );
  metrics.read(
    { name: "akash_provider_outbox_in_flight", help: "Transactions whose fate is not known yet", kind: "gauge" },
    () => outbox.counts.inFlight,
  );
  metrics.read(
    {
      name: "akash_provider_outbox_stalled",
      help: "1 while nothing gets through and a person is needed",
      kind: "gauge",
    },
    () => (outbox.state.stalled ? 1 : 0),
  );
  metrics.read(
    {
      name: "akash_provider_outbox_silent",
      help: "1 while the outbox cannot work, most often because no node answers",
      kind: "gauge",
    },
    () => (outbox.state.silent === undefined ? 0 : 1),
  );
  metrics.read(
    {
      name: "akash_provider_outbox_dead_transactions_total",
      help: "Transactions that never came into a block",
      kind: "counter",
    },
    () => outbox.counts.dead,
  );
  metrics.read(
    { name: "akash_provider_outbox_settled_total", help: "Intents by outcome", kind: "counter", labels: ["outcome"] },
    () => (["done", "failed", "expired", "cancelled"] as const).map((outcome) => [{ outcome }, outbox.counts[outcome]]),
  );
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
