/** What is measured of the chain: the follower, the nodes, the mirror and the outbox. */
import type { Metrics } from "../runtime/metrics.ts";
import type { CometChain } from "./comet/comet-chain.ts";
import type { Outbox } from "./outbox/outbox.ts";

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
