/** What holds back intents: a stall all of them, a short wallet the costly ones, a rejection a single one. */
import type { Intent } from "../../journal/intents.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { causeOf, type Head, rpcCodespace, type TxRejection } from "../tx/broadcaster.ts";
import type { PendingTx } from "./pending-txs.ts";

/** Transactions in a row that nodes take and no block holds before that is a condition: one may be bad luck. */
const outboxSwallowed = 2;
/** Temporary rejections of a message before it fails. Each wait is twice as long: half an hour in all. */
export const outboxDelays = 8;
/** An empty wallet is looked at again so often. */
export const outboxStalledMs = 30 * second;

export type Stall = ReturnType<typeof createStall>;

/** Whether transactions get through, and if not, what a person can do about it. */
export function createStall(clock: Clock, log: Log) {
  let stalled: ProviderError | undefined;
  let retryAtMs = 0;
  let swallowed = 0;

  function begin(error: ProviderError, restMs: number): void {
    if (stalled?.message !== error.message) logError(log, "transactions stalled", error);
    stalled = error;
    retryAtMs = clock.monotonicMs() + restMs;
  }

  function end(): void {
    if (stalled) log.info("transactions no longer stalled");
    stalled = undefined;
  }

  return {
    get error() {
      return stalled;
    },
    /** Stalled, and the next attempt is not due yet. */
    get rests() {
      return stalled !== undefined && clock.monotonicMs() < retryAtMs;
    },
    begin: (error: ProviderError) => begin(error, outboxStalledMs),
    /** A node accepted a transaction. That ends a rejection, but not a stall where nodes accept and never gossip. */
    taken(): void {
      if (!ProviderError.is(stalled, "AKP_TX_SWALLOWED")) end();
    },
    landed(): void {
      swallowed = 0;
      end();
    },
    died({ hash, subjects, taken = false, rejection }: PendingTx): void {
      log.error("transaction never came into a block", { hash, messages: subjects.length, taken, ...rejection });
      if (!taken) return;
      swallowed += 1;
      if (swallowed < outboxSwallowed) return;
      const reason = rejection?.log ?? "no node says why";
      // Each attempt takes longer than a rest by itself.
      begin(new ProviderError("AKP_TX_SWALLOWED", { reason }), 0);
    },
  };
}

/** What a rejected broadcast means for all that wait; undefined when it concerns that one transaction alone. */
export function stallOf(rejection: TxRejection, address: string, fee: string): ProviderError | undefined {
  if (rejection.codespace === rpcCodespace) return undefined;
  const reason = rejection.log;
  const { kind } = causeOf(reason);
  if (kind === "stale" || kind === "unordered") return undefined;
  if (kind === "funds") return new ProviderError("AKP_WALLET_SHORT", { address, what: fee, reason });
  if (kind === "price") return new ProviderError("AKP_FEE_TOO_LOW", { fee, reason });
  if (kind === "account") return new ProviderError("AKP_WALLET_UNKNOWN", { address });
  return new ProviderError("AKP_TX_FAILED", { reason, code: rejection.code, codespace: rejection.codespace });
}

export type WalletGuard = ReturnType<typeof createWalletGuard>;

/** Whether the wallet pays deposits. If not, only messages that cost more than a fee wait; closes and withdrawals go on. */
export function createWalletGuard(address: string, clock: Clock, log: Log) {
  let short: ProviderError | undefined;
  let retryAtMs = 0;
  /** Since it was short: simulations do not see pending transactions, so one at a time until all have left. */
  let careful = false;

  return {
    /** Why costly messages wait, while they do. */
    get short() {
      return short;
    },
    get careful() {
      return careful;
    },
    /** How many transactions with costly messages may leave now, when so many are under way. */
    roomFor(underWay: number): number {
      if (!careful) return Number.POSITIVE_INFINITY;
      if (short && clock.monotonicMs() < retryAtMs) return 0;
      return Math.max(0, 1 - underWay);
    },
    /** The balance did not cover all messages; `reason` is the chain's error. */
    runShort(reason: string): void {
      const error = new ProviderError("AKP_WALLET_SHORT", { address, what: "all deposits", reason });
      if (!short) logError(log, "wallet cannot pay deposits", error);
      short = error;
      careful = true;
      retryAtMs = clock.monotonicMs() + outboxStalledMs;
    },
    /** A transaction left with all that it was meant to hold. */
    paid(): void {
      if (short) log.info("wallet can pay deposits again");
      short = undefined;
    },
    /** No costly message waits any more. */
    rest(): void {
      short = undefined;
      careful = false;
    },
  };
}

export type RejectedIntents = ReturnType<typeof createRejectedIntents>;

/** Intents whose simulation a node rejected. They are retried, since the node may lack the newest block. */
export function createRejectedIntents() {
  /** `rejectedAt`: height of the first rejection. `until`: the last head at which it is not retried. */
  const known = new Map<number, { rejectedAt?: bigint; until: bigint; named: boolean; delays: number }>();
  return {
    /** A node rejected it. True once that is final: a second rejection at a later height. */
    rejected({ id }: Intent, { height }: Head, named: boolean): boolean {
      const { rejectedAt = height, delays = 0 } = known.get(id) ?? {};
      known.set(id, { rejectedAt, until: height, named, delays });
      return height > rejectedAt;
    },
    /** A node rejected it for now. True after too many of these. */
    notNow({ id }: Intent, { height }: Head): boolean {
      const before = known.get(id);
      const delays = (before?.delays ?? 0) + 1;
      // After one block, then ever later.
      known.set(id, { ...before, until: height + 2n ** BigInt(delays - 1) - 1n, named: true, delays });
      return delays > outboxDelays;
    },
    /** Whether it waits for a block after this head. */
    waits: ({ id }: Intent, { height }: Head) => (known.get(id)?.until ?? -1n) >= height,
    /** Whether it must be sent alone: the error does not name the failing message of its group. */
    nameless: ({ id }: Intent) => known.get(id)?.named === false,
    knows: ({ id }: Intent) => known.has(id),
    /** The node ran it, or it is settled. */
    forget: (id: number) => void known.delete(id),
  };
}

/** The message is for a machine to find, the error for a person to read. */
export function logError(log: Log, message: string, { code, message: reason, advice }: ProviderError): void {
  log.error(message, { code, reason, advice });
}
