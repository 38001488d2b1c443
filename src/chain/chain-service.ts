/** The chain as a service: it follows the blocks, mirrors what concerns us, and sends what we decided. */
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { Intent } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import type { Boundary } from "../runtime/boundary.ts";
import { condition } from "../runtime/condition.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { minute } from "../runtime/durations.ts";
import type { ProviderError } from "../runtime/errors.ts";
import type { ResourceService } from "../runtime/lifecycle.ts";
import { viewEvents } from "../runtime/limits.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Chain, Step } from "./chain.ts";
import { type CometChain, createCometChain } from "./comet/comet-chain.ts";
import { showEvent } from "./comet/events.ts";
import type { Cursor } from "./comet/follower.ts";
import type { RpcTransport } from "./comet/transport.ts";
import { createForeignTransactions, type ForeignTransactions } from "./foreign-transactions.ts";
import type { Signer } from "./keys/signer.ts";
import { createOutbox, type OutboxLoop, outboxReason } from "./outbox/outbox.ts";
import type { SendSettings } from "./outbox/preparation.ts";
import { createWonBids } from "./outbox/won-bids.ts";
import type { Broadcaster } from "./tx/broadcaster.ts";
import { createCometBroadcaster } from "./tx/comet-broadcaster.ts";

/** Age of the mirror from which on it is a condition: half a minute more than the longest stand-still that passes by itself. */
const chainOldMs = 2 * minute;

export interface ChainServiceOptions {
  /** Called at start, since the node of the demo knows its port only then. */
  readonly nodes: () => readonly RpcTransport[];
  readonly chainId?: string;
  readonly signer: Signer;
  readonly settings: SendSettings;
}

interface ChainDeps extends RuntimeDeps {
  readonly journal: Promise<Journal>;
  readonly boundary: Boundary;
  /** Why nothing may be sent now, if so: another provider may have our key. */
  readonly forbids?: (() => ProviderError | undefined) | undefined;
}

export type ChainServiceStatus = ReturnType<typeof statusOf>;

/** `beforeBlocks` is called before any block is followed: a listener added there misses nothing. */
export function createChainService(
  options: ChainServiceOptions,
  deps: ChainDeps,
  beforeBlocks: (chain: Chain) => Promise<void> | void = () => undefined,
): ResourceService<Chain, ChainServiceStatus> {
  const { nodes, signer, chainId, settings } = options;
  const { promise, resolve } = Promise.withResolvers<Chain>();
  const lastEvents: string[] = [];
  let chain: CometChain | undefined;
  let outbox: OutboxLoop | undefined;
  let foreign: ForeignTransactions | undefined;
  let lastStatus: ChainServiceStatus | undefined;

  function noteEvents({ block }: Step): void {
    for (const { event } of block?.events.slice(-viewEvents) ?? [])
      lastEvents.push(`${block?.height} ${showEvent(event)}`);
    lastEvents.splice(0, lastEvents.length - viewEvents);
  }

  const statusNow = () => chain && statusOf(chain, outbox, lastEvents);

  return {
    name: "chain",
    waitsForOthers: true,
    async start(scope) {
      const { clock } = deps;
      const journal = await deps.journal;
      const log = deps.log.with({ module: "chain" });
      const wanted = { nodes: nodes(), ...(chainId !== undefined && { chainId }) };
      const comet = createCometChain({ ...deps, log, ...wanted, provider: signer.address, cursor: cursorIn(journal) });
      chain = comet;
      await comet.open(scope);
      const broadcaster = createCometBroadcaster(comet.pool, scope.signal);
      const allowed = onlyWhile(broadcaster, deps.forbids);
      const sending = { chainId: comet.chainId, signer, chain: allowed, settings };
      const bidsToClose = createWonBids(comet, comet.pool, scope.signal);
      const isPaused = () => isPausing(journal.read.switches.get(pauseSwitch), clock.now());
      const isHeld = ({ what }: Pick<Intent, "what">) => what === "createBid" && isPaused();
      const own = createOutbox({ ...deps, log, journal, ...sending, bidsToClose, isHeld });
      outbox = own;
      const opened = Object.assign(comet, { outbox: own, broadcaster });
      const others = createForeignTransactions(signer.address, own.isOurs, comet.mirror.timeNs, clock, log);
      foreign = others;
      await beforeBlocks(opened);
      comet.onStep(own.onStep);
      comet.onStep(noteEvents);
      comet.onStep(others.onStep);
      comet.follow(scope);
      scope.task("outbox", own.run);
      resolve(opened);
      // After the end the last status is served; the journal is closed by then.
      scope.onStop(() => {
        lastStatus = statusNow();
      });
    },
    opened: promise,
    detail() {
      if (!chain) return "";
      const { reason, nodes } = chain.status;
      const ours = outbox && outboxReason(outbox.state);
      return ours ?? reason ?? `${chain.chainId}, block ${chain.height}, ${nodes.length} node(s)`;
    },
    status: () => lastStatus ?? statusNow(),
    *conditions() {
      const { reason, mirrorAgeMs = 0 } = chain?.status ?? {};
      if (reason !== undefined) yield condition("ChainTrouble", reason);
      const ours = outbox && outboxReason(outbox.state);
      if (ours !== undefined) yield condition("TransactionsHeld", ours);
      if (foreign?.message !== undefined) yield condition("KeyUsedElsewhere", foreign.message);
      if (mirrorAgeMs > chainOldMs)
        yield condition("ChainOld", `the last block read is ${Math.round(mirrorAgeMs / 1_000)} s old`);
    },
    measure(metrics) {
      if (chain) measureChain(metrics, chain);
      if (outbox) measureOutbox(metrics, outbox);
      const help =
        "1 for an hour after a bid, close, reclamation, withdrawal or failure of our account that this provider did not send";
      metrics.read({ name: "akash_provider_key_used_elsewhere", help, kind: "gauge" }, () =>
        foreign?.message ? 1 : 0,
      );
    },
  };
}

function statusOf(chain: CometChain, outbox: OutboxLoop | undefined, events: readonly string[]) {
  const { chainId = "", head, reason } = chain.status;
  const { owed = 0, done = 0, failed = 0 } = outbox?.counts ?? {};
  return {
    ...{ chainId, height: chain.height, head, owed, landed: done, failed, events },
    orders: [...chain.mirror.orders()].length,
    bids: [...chain.mirror.bids()].length,
    leases: [...chain.mirror.leases()].length,
    error: reason ?? (outbox && outboxReason(outbox.state)),
  };
}

/** No pass of the outbox begins and nothing leaves while that is forbidden. */
function onlyWhile(chain: Broadcaster, forbids: ChainDeps["forbids"] = () => undefined): Broadcaster {
  function guarded<Args extends unknown[], T>(call: (...args: Args) => Promise<T>) {
    return async (...args: Args): Promise<T> => {
      const error = forbids();
      if (error) throw error;
      return call(...args);
    };
  }
  return { ...chain, head: guarded(chain.head), broadcast: guarded(chain.broadcast) };
}

/** Relaxed: a power cut may set it back by moments, and the blocks since then come again. */
export function cursorIn(journal: Pick<Journal, "read" | "relaxed">): Cursor {
  return {
    load: (chainId) => journal.read.cursor.get(chainId),
    save: (chainId, height) => journal.relaxed("cursor", ({ cursor }) => cursor.set(chainId, height)),
  };
}

// What is measured of the chain: the follower, the nodes, the mirror and the outbox.

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
