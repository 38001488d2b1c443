/**
 * Sends what was decided, exactly once. A loop that writes down every transaction before it leaves, and learns what became
 * of it by looking at the chain, never from the answer to a call.
 */
import type { Intent, NewIntent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Boundary, openBoundary } from "../../runtime/boundary.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import type { Step } from "../chain.ts";
import type { Signer } from "../keys/signer.ts";
import { isCostly } from "../tx/cost.ts";
import type { Broadcaster, Head } from "./broadcaster.ts";
import { createCondition } from "./condition.ts";
import { createDoubts } from "./doubts.ts";
import { createFlights } from "./flights.ts";
import { accountOf, intentOf, isWithdrawal, type Owner, priorities, type Wish } from "./intent.ts";
import { refuseOthers } from "./left-behind.ts";
import { pack } from "./packing.ts";
import { createPreparation, type Ordering, type PreparationCounts, type SendSettings } from "./preparation.ts";
import { createPurse } from "./purse.ts";
import { createSender, type SenderCounts } from "./sender.ts";
import { createSettlement, type Settled, type SettledResult, type SettlementCounts } from "./settlement.ts";
import { ChainSilence, eachApart, withSilence } from "./silence.ts";
import { createStamps } from "./stamps.ts";
import { createTracker } from "./tracker.ts";
import { createWaiters } from "./waiters.ts";

export interface OutboxOptions {
  readonly chainId: string;
  readonly signer: Signer;
  readonly chain: Broadcaster;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly boundary?: Boundary;
  readonly settings: SendSettings;
}

export interface Outbox {
  /** Resolves with the intent's id when it is safe in the journal; it is sent with the next transaction. */
  file(wish: Wish): Promise<number>;
  /** Resolves when the intent is settled, at once when it already is. */
  wait(id: number): Promise<Settled>;
  /** Told of every intent when it is settled; what it returns ends that. */
  onSettled(listener: (settled: Settled) => void): () => void;
  /** True when the intent had not left: now it never will. False when it is under way or settled. */
  cancel(id: number, why: string): Promise<boolean>;
  /**
   * A step along the chain: settles what its block holds. Whoever follows the chain hands over every step and moves the
   * cursor only when this has resolved; then no node need keep an index for us.
   */
  onStep(step: Pick<Step, "block" | "gap">): Promise<void>;
  /** There is a new block. A hint, for whoever does not follow: without it the outbox finds out a little later. */
  onBlock(height: bigint, timeNs: bigint): void;
  /** The wish as the journal takes it, for a unit of one's own; `wake` afterwards. */
  intentOf(wish: Wish): NewIntent;
  wake(): void;
  /** Works until the signal is aborted. Rejects when the journal died or an invariant broke. */
  run(signal: AbortSignal): Promise<void>;
  readonly state: OutboxState;
  readonly counts: OutboxCounts;
}

export interface OutboxState {
  readonly ordering: Ordering;
  /** Why nothing gets through and what to do about it, while that is so. */
  readonly stalled: ProviderError | undefined;
  /** Why the last attempt to work came to nothing, while that is so: most often, no node answered. */
  readonly silent: string | undefined;
  /** A transaction whose time has passed and whose fate no node can know; its intents wait. */
  readonly unproven: ProviderError | undefined;
}

/** What keeps the outbox from its work, in words: first what a person must do something about. */
export function troubleOf({ stalled, unproven, silent }: OutboxState): string | undefined {
  return stalled?.message ?? unproven?.message ?? silent;
}

export interface OutboxCounts extends Readonly<SettlementCounts>, Readonly<SenderCounts>, Readonly<PreparationCounts> {
  /** Intents that are not settled. */
  readonly owed: number;
  /** Transactions whose fate is not known yet. */
  readonly inFlight: number;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { chainId, signer, journal, clock, log, boundary = openBoundary, settings } = options;
  const { address } = signer;
  const owner: Owner = { chainId, sender: address };
  let ending: AbortSignal | undefined;
  const chain = withSilence(options.chain, () => ending);
  const pause = createPause(clock);
  const waiters = createWaiters();
  const condition = createCondition(clock, log);
  const purse = createPurse(address, clock, log);
  const doubts = createDoubts();
  const settlement = createSettlement(journal, address, (settled) => {
    if (settled.state === "failed") log.info("intent failed", { ...settled });
    doubts.forget(settled.id);
    waiters.tell(settled);
  });
  refuseOthers(journal, owner);
  const flights = createFlights(journal, chainId);
  const stampsInUse = flights.all().flatMap(({ stampNs }) => stampNs ?? []);
  const lastStampNs = journal.read.transactions.lastStampNs(chainId, address) ?? 0n;
  const stamps = createStamps(lastStampNs, stampsInUse, clock.now());
  const shared = { chainId, address, signer, chain, journal, clock, log, settlement, condition, purse, flights };
  const preparation = createPreparation({ ...shared, settings, stamps, doubts });
  const sender = createSender({ ...shared, preparation, boundary, ordering: settings.ordering ?? "unordered" });
  const tracker = createTracker({ ...shared, sender });
  let announced: Head | undefined;
  let company: Timer | undefined;
  let silent: string | undefined;
  let silences = 0;

  /** Bids of one moment belong into one transaction: wait a little for more. */
  function ringSoon(): void {
    company ??= clock.timer(limits.outboxCompanyMs, () => {
      company = undefined;
      pause.ring();
    });
  }

  function onBlock(height: bigint, timeNs: bigint): void {
    if (!announced || height > announced.height) announced = { height, timeNs };
    pause.ring();
  }

  async function run(signal: AbortSignal): Promise<void> {
    ending = signal;
    try {
      while (!signal.aborted) {
        const pauseMs = await turn();
        await pause.wait(pauseMs, signal);
      }
    } finally {
      company?.cancel();
    }
  }

  /** One pass, and how long to wait for the next if nothing happens. */
  async function turn(): Promise<number> {
    try {
      await pass();
      if (silent !== undefined) log.info("outbox works again");
      silent = undefined;
      silences = 0;
      return limits.outboxPollMs;
    } catch (thrown) {
      if (!isPassing(thrown)) throw thrown;
      if (ending?.aborted) return 0;
      if (silent === undefined) log.error("outbox cannot work, trying again", { reason: thrown.message });
      silent = thrown.message;
      silences += 1;
      return growingPauseMs(limits.outboxSilenceFirstMs, limits.outboxPollMs, silences);
    }
  }

  async function pass(): Promise<void> {
    if (flights.size === 0 && journal.read.intents.owed() === 0) return;
    const head = await currentHead();
    const unheard = [await tracker.look(head), await sendWaiting(head)];
    for (const silence of unheard) if (silence) throw silence;
  }

  async function sendWaiting(head: Head): Promise<ChainSilence | undefined> {
    const waiting = await dropExpired(journal.read.intents.waiting(mostWaiting), head);
    if (!waiting.some(({ what }) => isCostly(what))) purse.rest();
    if (waiting.length === 0 || condition.rests) return undefined;
    const account = await chain.account(address, head.height);
    if (!account) {
      condition.stall(new ProviderError("AKP_WALLET_UNKNOWN", { address }));
      return undefined;
    }
    const point = { head, account, ordering: sender.ordering };
    const silence = await eachApart(packed(waiting, head), (group) => sender.send(group, point));
    if (sender.ordering !== point.ordering) pause.ring();
    return silence;
  }

  /** A node that lags behind the one that announced a block must not take us back in time. */
  async function currentHead(): Promise<Head> {
    const head = await chain.head();
    return announced && announced.height > head.height ? announced : head;
  }

  /** While stalled, one transaction is enough to find out whether that is over. */
  function packed(waiting: readonly Intent[], head: Head): Intent[][] {
    const most = condition.stalled ? 1 : sender.mostFlights;
    const setAside = waiting.filter((intent) => doubts.setAside(intent, head));
    const underWay = flights.all().flatMap(({ subjects }) => subjects);
    const { airborne } = flights;
    const hurriedFromMs = laterMs(head) + limits.outboxStampMs;
    return pack(waiting, {
      mostMessages: limits.outboxTxMessages,
      mostGas: preparation.mostGas,
      room: Math.max(0, most - airborne.length),
      gasOf: preparation.gasOf,
      alone: doubts.nameless,
      busy: new Set([...underWay, ...setAside.map(({ subject }) => subject)]),
      costly: ({ what }) => isCostly(what),
      costlyRoom: purse.roomFor(airborne.filter(({ costly }) => costly).length),
      hurried: ({ expiresAtMs }) => expiresAtMs !== undefined && expiresAtMs < hurriedFromMs,
      accountOf,
      withdraws: isWithdrawal,
      settling: new Set(airborne.flatMap(({ accounts }) => accounts)),
    });
  }

  /** Now, by our clock or the chain's: what is too late for one of them is not sent. */
  function laterMs({ timeNs }: Head): number {
    return Math.max(clock.now(), Number(timeNs / 1_000_000n));
  }

  async function dropExpired(waiting: readonly Intent[], head: Head): Promise<readonly Intent[]> {
    const nowMs = laterMs(head);
    const isExpired = ({ expiresAtMs }: Intent) => expiresAtMs !== undefined && expiresAtMs <= nowMs;
    const expired = waiting.filter(isExpired);
    if (expired.length > 0) await settlement.expired(expired);
    return waiting.filter((intent) => !isExpired(intent));
  }

  return {
    async file(wish) {
      const intent = intentOf(wish, owner);
      // What is less urgent never takes the room of what is more.
      const owed = journal.read.intents.owed(intent.priority);
      if (owed >= limits.outboxIntents) throw new ProviderError("AKP_OUTBOX_FULL", { owed });
      const id = await journal.durable("file intent", ({ intents }) => intents.file(intent));
      ringSoon();
      return id;
    },
    async wait(id) {
      const intent = journal.read.intents.get(id);
      if (!intent) throw new ProviderError("AKP_INTENT_UNKNOWN", { id });
      const { state } = intent;
      if (state === "filed" || state === "sent") return waiters.wait(id);
      return { id, state, result: (intent.result ?? {}) as SettledResult };
    },
    onSettled: waiters.listen,
    cancel: settlement.cancel,
    async onStep(step) {
      await tracker.follow(step, ending);
      if (step.block) onBlock(step.block.height, step.block.timeNs);
    },
    onBlock,
    intentOf: (wish) => intentOf(wish, owner),
    wake: ringSoon,
    run,
    get state() {
      const stalled = condition.stalled ?? purse.short;
      return { ordering: sender.ordering, stalled, silent: silent ?? tracker.heldUp, unproven: flights.unproven };
    },
    get counts() {
      const owed = journal.read.intents.owed();
      return { ...settlement.counts, ...sender.counts, ...preparation.counts, owed, inFlight: flights.size };
    },
  };
}

/** Each priority has its own room. */
const mostWaiting = limits.outboxIntents * Object.keys(priorities).length;

/** Nobody answered, or another program holds the journal for an instant: nothing is lost, try again. */
function isPassing(thrown: unknown): thrown is Error {
  return thrown instanceof ChainSilence || ProviderError.is(thrown, "AKP_JOURNAL_BUSY");
}
