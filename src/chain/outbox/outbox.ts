/**
 * Sends what was decided, exactly once. A loop that writes down every transaction before it leaves, and learns what became
 * of it by looking at the chain, never from the answer to a call.
 */
import type { Intent, NewIntent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { type Boundary, openBoundary } from "../../runtime/boundary.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import type { Signer } from "../keys/signer.ts";
import type { Broadcaster, Head, Included } from "./broadcaster.ts";
import { createCondition } from "./condition.ts";
import { type Flight, nextStep } from "./flight.ts";
import { intentOf, type Owner, type Wish } from "./intent.ts";
import { loadFlights, refuseOthers } from "./left-behind.ts";
import { pack } from "./packing.ts";
import { createSender, type Ordering, type SenderCounts, type SendSettings } from "./sender.ts";
import { createSettlement, type Settled, type SettledResult, type SettlementCounts } from "./settlement.ts";
import { ChainSilence, eachApart, withSilence } from "./silence.ts";
import { createStamps } from "./stamps.ts";
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
  /** There is a new block. A hint: without it the outbox finds out a little later. */
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

export interface OutboxCounts extends Readonly<SettlementCounts>, Readonly<SenderCounts> {
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
  const settlement = createSettlement(journal, (settled) => {
    if (settled.state === "failed") log.info("an intent failed", { ...settled });
    waiters.tell(settled);
  });
  refuseOthers(journal, owner);
  const flights = loadFlights(journal);
  const stamps = createStamps(journal.read.transactions.lastStampNs(chainId, address) ?? 0n);
  const shared = { chainId, signer, chain, journal, clock, log, boundary, settings, stamps, settlement, condition };
  const sender = createSender({ ...shared, flights });
  waiters.listen(({ id }) => sender.forget(id));
  let announced: Head | undefined;
  let company: Timer | undefined;
  let silent: string | undefined;
  let silences = 0;
  let toldUnproven: unknown;

  /** Bids of one moment belong into one transaction: wait a little for more. */
  function ringSoon(): void {
    company ??= clock.timer(limits.outboxCompanyMs, () => {
      company = undefined;
      pause.ring();
    });
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
      silent = undefined;
      silences = 0;
      return limits.outboxPollMs;
    } catch (thrown) {
      if (!isPassing(thrown)) throw thrown;
      if (ending?.aborted) return 0;
      silent = thrown.message;
      silences += 1;
      log.debug("the outbox could not work just now", { reason: silent });
      return Math.min(limits.outboxSilenceFirstMs * 2 ** (silences - 1), limits.outboxPollMs);
    }
  }

  async function pass(): Promise<void> {
    if (flights.size === 0 && journal.read.intents.owed() === 0) return;
    const head = await currentHead();
    const unheard = [await lookAtFlights(head), await sendWaiting(head)];
    for (const silence of unheard) if (silence) throw silence;
  }

  async function sendWaiting(head: Head): Promise<ChainSilence | undefined> {
    const waiting = await dropExpired(journal.read.intents.waiting(limits.outboxIntents));
    if (waiting.length === 0 || condition.restMs > 0) return undefined;
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
    const setAside = waiting.filter((intent) => sender.setAside(intent, head));
    const underWay = [...flights.values()].flatMap(({ subjects }) => subjects);
    return pack(waiting, {
      mostMessages: limits.outboxTxMessages,
      mostGas: sender.mostGas,
      room: Math.max(0, most - flights.size),
      gasOf: sender.gasOf,
      alone: sender.doubted,
      busy: new Set([...underWay, ...setAside.map(({ subject }) => subject)]),
    });
  }

  async function lookAtFlights(head: Head): Promise<ChainSilence | undefined> {
    const due = [...flights.values()].filter(({ lookedAt }) => lookedAt === undefined || lookedAt < head.height);
    const ordered = due.some(({ sequence }) => sequence !== undefined);
    const account = ordered ? await chain.account(address, head.height) : undefined;
    const silence = await eachApart(due, (flight) => look(flight, head, account?.sequence));
    tellUnproven();
    return silence;
  }

  async function look(flight: Flight, head: Head, sequence: bigint | undefined): Promise<void> {
    const found = await find(flight, head);
    const step = nextStep(flight, found, head, sequence);
    if (step.kind === "broadcast") await sender.broadcast(flight, head);
    if (step.kind === "settle") await settlement.included(flight, step.included);
    if (step.kind === "refile") await settlement.dead(flight);
    if (step.kind === "settle" || step.kind === "refile") flights.delete(flight.hash);
    flight.lookedAt = head.height;
  }

  function unproven(): ProviderError | undefined {
    return [...flights.values()].find((flight) => flight.passedAt !== undefined && flight.unproven)?.unproven;
  }

  function tellUnproven(): void {
    const error = unproven();
    if (error && error.details["hash"] !== toldUnproven) log.error(error.message, { advice: error.advice });
    toldUnproven = error?.details["hash"];
  }

  async function find(flight: Flight, head: Head): Promise<Included | undefined> {
    try {
      const found = await chain.findTx(flight.hash, head.height, flight.firstHeight);
      flight.unproven = undefined;
      return found;
    } catch (thrown) {
      const cause = thrown instanceof ChainSilence ? thrown.cause : undefined;
      if (!ProviderError.is(cause, "AKP_TX_UNPROVEN")) throw thrown;
      flight.unproven = cause;
      return undefined;
    }
  }

  async function dropExpired(waiting: readonly Intent[]): Promise<readonly Intent[]> {
    const isExpired = ({ expiresAtMs }: Intent) => expiresAtMs !== undefined && expiresAtMs <= clock.now();
    const expired = waiting.filter(isExpired);
    if (expired.length === 0) return waiting;
    await settlement.expired(expired);
    const gone = new Set(expired);
    return waiting.filter((intent) => !gone.has(intent));
  }

  return {
    async file(wish) {
      const intent = intentOf(wish, owner);
      const owed = journal.read.intents.owed();
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
    onBlock(height, timeNs) {
      if (!announced || height > announced.height) announced = { height, timeNs };
      pause.ring();
    },
    intentOf: (wish) => intentOf(wish, owner),
    wake: ringSoon,
    run,
    get state() {
      return { ordering: sender.ordering, stalled: condition.stalled, silent, unproven: unproven() };
    },
    get counts() {
      const owed = journal.read.intents.owed();
      return { ...settlement.counts, ...sender.counts, owed, inFlight: flights.size };
    },
  };
}

/** Nobody answered, or another program holds the journal for an instant: nothing is lost, try again. */
function isPassing(thrown: unknown): thrown is Error {
  return thrown instanceof ChainSilence || ProviderError.is(thrown, "AKP_JOURNAL_BUSY");
}
