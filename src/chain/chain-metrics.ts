/** What is measured of the chain: the follower, the nodes, the mirror and the outbox. */
import type { Metrics } from "../runtime/metrics.ts";
import type { CometChain } from "./comet/comet-chain.ts";
import type { OutboxLoop } from "./outbox/outbox.ts";

export function measureChain(metrics: Metrics, chain: CometChain): void {
  const name = "akash_provider_chain";
  metrics.readEach("gauge", name, [
    ["height", "Last block processed", () => Number(chain.height)],
    [
      "head_height",
      "Newest block that was followed, or that most RPC nodes report if it is higher",
      () => Number(chain.status.head ?? 0n),
    ],
    ["block_seconds", "Average time between blocks", () => chain.status.blockTimeMs / 1_000],
    ["mirror_ready", "1 once the mirror was built", () => (chain.mirror.ready ? 1 : 0)],
    ["mirror_age_seconds", "Age of the mirror's block", () => (chain.status.mirrorAgeMs ?? 0) / 1_000],
  ]);
  const { follower, mirror } = chain.counts;
  metrics.readEach("counter", name, [
    ["blocks", "Blocks processed", () => follower.blocks],
    ["events", "Market events read from blocks", () => follower.events],
    ["other_events", "Events in blocks that do not concern the market", () => follower.otherEvents],
    ["malformed_events", "Market events that could not be parsed", () => follower.malformedEvents],
    ["gaps", "Ranges of blocks that no RPC node had any more", () => follower.gaps],
    ["stand_stills", "Times that the chain made no blocks for long", () => follower.standStills],
    ["retries", "Reads of blocks that were retried", () => follower.retries],
    ["mirror_builds", "Times that the mirror was built from lists", () => mirror.builds],
    ["mirror_comparisons", "Comparisons of the mirror with the chain", () => mirror.comparisons],
    ["mirror_drift", "Differences that a comparison found; more than 0 is a bug", () => mirror.drift],
  ]);
  const help = "1 for the condition of each RPC node, numbered as in the settings";
  metrics.read({ name: `${name}_node_condition`, help, kind: "gauge", labels: ["node", "condition"] }, () =>
    chain.status.nodes.map(({ condition }, index) => [{ node: `${index + 1}`, condition }, 1]),
  );
}

export function measureOutbox(metrics: Metrics, outbox: OutboxLoop): void {
  const name = "akash_provider_outbox";
  metrics.readEach("gauge", name, [
    ["owed", "Intents not settled yet", () => outbox.counts.owed],
    ["in_flight", "Transactions sent whose result is not known yet", () => outbox.counts.inFlight],
    ["stalled", "1 while no transaction gets through and a person is needed", () => (outbox.state.stalled ? 1 : 0)],
    ["silent", "1 while no RPC node answers the outbox", () => (outbox.state.silent === undefined ? 0 : 1)],
  ]);
  const deadHelp = "Transactions that never came into a block";
  metrics.read({ name: `${name}_dead_transactions_total`, help: deadHelp, kind: "counter" }, () => outbox.counts.dead);
  const settledHelp = "Intents settled, by outcome";
  metrics.read({ name: `${name}_settled_total`, help: settledHelp, kind: "counter", labels: ["outcome"] }, () =>
    (["done", "failed", "expired", "cancelled"] as const).map((outcome) => [{ outcome }, outbox.counts[outcome]]),
  );
}
