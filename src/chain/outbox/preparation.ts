/** Drafts transactions that will not fail: simulated, without messages that a node would not run. */
import type { Intent } from "../../journal/intents.ts";
import { largest, smallest } from "../../runtime/bigint.ts";
import { msToNs, nsToMs } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { causeOf, type Head, type SenderAccount, type Simulation } from "../tx/broadcaster.ts";
import { isCostly, mayFit } from "../tx/messages.ts";
import {
  adjustedGas,
  type Draft,
  type FeeSettings,
  feeFor,
  gasFor,
  unsignedTransaction,
  type Validity,
} from "../tx/transaction.ts";
import type { GasMemory } from "./gas-memory.ts";
import { type OutboxDeps, packedMessageOf } from "./intent.ts";
import { type RejectedIntents, type Stall, stallOf, type WalletGuard } from "./obstacles.ts";
import type { Settlement } from "./settlement.ts";

/** Gas of one transaction: fifty bids with room to spare, and a tenth of a second of a validator's time. */
const outboxTxGas = 25_000_000n;
/** Of one transaction: a simulation sends it in hex, and a node takes requests of a million bytes. */
export const outboxTxBytes = 480_000;
/** How long a transaction may wait for its block: ten blocks. Then it is dead for sure and its intents go on. */
export const outboxTimeoutMs = minute;
/** The same for transactions with a sequence, in blocks. */
export const outboxTimeoutBlocks = 10;
/** The chain rejects timeouts more than ten minutes ahead of its own time; a minute less for nodes that lag. */
const outboxTimeoutAheadMs = 9 * minute;

/** Unordered where the chain takes it: such transactions need no turn and are all under way at once. */
export type Ordering = "unordered" | "ordered";

export interface SendSettings extends FeeSettings {
  readonly feeGranter?: string | undefined;
  readonly note?: string | undefined;
  /** Most gas of one transaction; a single message that needs more goes alone. */
  readonly mostGas?: bigint;
  readonly ordering?: Ordering;
}

export interface PreparationDeps extends OutboxDeps {
  readonly settings: SendSettings;
  readonly timeouts: ReturnType<typeof createTimeouts>;
  readonly settlement: Settlement;
  readonly stall: Stall;
  readonly walletGuard: WalletGuard;
  readonly rejected: RejectedIntents;
  readonly gasMemory: GasMemory;
}

/** The state of the chain that a pass works from. */
export interface SendPoint {
  readonly head: Head;
  readonly account: SenderAccount;
  /** When it changes under way, the rest waits for the next pass: sequences leave room for one transaction only. */
  readonly ordering: Ordering;
}

export interface Load {
  readonly intents: readonly Intent[];
  /** Cut down to what the wallet has: then the fee must be counted exactly too. */
  readonly cut: boolean;
}

type Prepared =
  | { readonly kind: "ready"; readonly draft: Draft }
  | { readonly kind: "retry"; readonly loads: readonly Load[] }
  /** The chain takes no transactions of this ordering. */
  | { readonly kind: "unordered"; readonly reason: string }
  | { readonly kind: "stop" };

const stop: Prepared = { kind: "stop" };
const nsPerMs = 1_000_000n;

export type Preparation = ReturnType<typeof createPreparation>;

export function createPreparation(deps: PreparationDeps) {
  const { signer, chain, settings, settlement, rejected, gasMemory } = deps;
  const mostGas = typeof settings.gas === "bigint" ? settings.gas : (settings.mostGas ?? outboxTxGas);
  /** Simulations, batches that needed none, and groups cut in two. */
  const counts = { simulations: 0, spared: 0, halved: 0 };

  async function prepare(load: Load, point: SendPoint): Promise<Prepared> {
    const { intents } = load;
    const validity = nextValidity(intents, point, deps);
    if (!validity) return stop;
    const { feeGranter, note } = settings;
    const base = { messages: intents.map(packedMessageOf), validity, feeGranter, note };
    const floor = sum(intents, ({ gasFloor = 0n }) => gasFloor);
    // With about the fee that it will pay: what the fee takes is missing for deposits.
    let expected = sum(intents, gasOf);
    for (;;) {
      const draft: Draft = { ...base, gas: 0n, fee: feeFor(expected, settings) };
      const unsigned = unsignedTransaction(draft, signer.publicKey);
      if (unsigned.length > outboxTxBytes) return splitTooLarge(intents, unsigned.length);
      const spared = withoutNode(load, deps);
      counts[spared ? "spared" : "simulations"] += 1;
      const answer = spared ?? (await chain.simulate(unsigned, point.head.height));
      if (answer.kind === "refused") return withoutFailing(intents, answer.log, point);
      for (const { id } of intents) rejected.forget(id);
      gasMemory.simulated(intents, answer.gasUsed);
      if (intents.length > 1 && largest(adjustedGas(answer.gasUsed, settings), floor) > mostGas) return halve(intents);
      const gas = largest(gasFor(answer.gasUsed, settings), floor);
      if (!load.cut || gas <= expected) return { kind: "ready", draft: { ...draft, gas, fee: feeFor(gas, settings) } };
      expected = gas;
    }
  }

  /** No node would take it, nor even read it. */
  async function splitTooLarge(intents: readonly Intent[], bytes: number): Promise<Prepared> {
    if (intents.length > 1) return halve(intents);
    await settlement.impossible(intents[0] as Intent, `${bytes} bytes are more than a node takes`);
    return retry();
  }

  /** Fees are never spent on a message that would fail: it is set aside, and the others try again without it. */
  async function withoutFailing(intents: readonly Intent[], log: string, point: SendPoint): Promise<Prepared> {
    const { head } = point;
    const cause = causeOf(log);
    const named = "index" in cause && cause.index !== undefined ? intents[cause.index] : undefined;
    const failing = named ?? (intents.length === 1 ? intents[0] : undefined);
    switch (cause.kind) {
      case "unordered":
        if (point.ordering === "ordered") break;
        return { kind: "unordered", reason: log };
      case "funds":
        // A message that costs us nothing is short of another account's money.
        return named && !isCostly(named.what)
          ? notNow(intents, named, log, head)
          : affordable(intents, named, log, deps);
      case "price":
      case "account":
        stallFor(log, deps);
        return stop;
      case "stale":
        return stop;
      case "not now":
        if (failing) return notNow(intents, failing, log, head);
    }
    if (!failing) return halve(intents);
    if (rejected.rejected(failing, head, named !== undefined)) await settlement.impossible(failing, log);
    return retry(intents.filter((intent) => intent !== failing));
  }

  async function notNow(intents: readonly Intent[], failing: Intent, log: string, head: Head): Promise<Prepared> {
    if (rejected.notNow(failing, head)) await settlement.impossible(failing, log);
    return retry(intents.filter((intent) => intent !== failing));
  }

  function halve(intents: readonly Intent[]): Prepared {
    counts.halved += 1;
    const middle = Math.ceil(intents.length / 2);
    return retry(intents.slice(0, middle), intents.slice(middle));
  }

  /** About what the message needs; 0 when none like it was seen. */
  function gasOf(intent: Intent): bigint {
    return adjustedGas(gasMemory.about(intent), settings);
  }

  return { prepare, mostGas, gasOf, counts: counts as Readonly<typeof counts> };
}

/** Nothing is in doubt about them: not the wallet, not the nodes, and not what they cost. */
function withoutNode(
  { intents, cut }: Load,
  { walletGuard, stall, rejected, gasMemory }: PreparationDeps,
): Simulation | undefined {
  if (cut || walletGuard.careful || stall.error || intents.some(rejected.knows)) return undefined;
  const gasUsed = gasMemory.expected(intents);
  return gasUsed === undefined ? undefined : { kind: "ran", gasUsed };
}

function nextValidity(
  intents: readonly Intent[],
  { head, account, ordering }: SendPoint,
  { chainId, signer, clock, timeouts, stall }: PreparationDeps,
): Validity | undefined {
  const latestMs = Math.min(...intents.map(({ expiresAtMs }) => expiresAtMs ?? Number.POSITIVE_INFINITY));
  if (ordering === "ordered") {
    const timeoutHeight = head.height + BigInt(blocksUntil(latestMs, head));
    return { kind: "ordered", sequence: account.sequence, timeoutHeight };
  }
  const timeoutNs = timeouts.next(head, clock.now(), Number.isFinite(latestMs) ? msToNs(latestMs) : undefined);
  if (timeoutNs !== undefined) return { kind: "unordered", timeoutNs };
  stall.begin(new ProviderError("AKP_STAMPS_AHEAD", { chainId, address: signer.address }));
  return undefined;
}

/** What the wallet has money for, in the order in which it was filed. The rest waits for more. */
function affordable(
  intents: readonly Intent[],
  short: Intent | undefined,
  log: string,
  deps: PreparationDeps,
): Prepared {
  const { walletGuard } = deps;
  if (short) {
    walletGuard.runShort(log);
    const message = packedMessageOf(short);
    const before = intents.slice(0, intents.indexOf(short));
    const after = intents.slice(before.length + 1).filter((intent) => mayFit(packedMessageOf(intent), message));
    return cut([...before, ...after]);
  }
  // Not even the fee: less of it for fewer messages.
  const free = intents.filter(({ what }) => !isCostly(what));
  if (free.length < intents.length) walletGuard.runShort(log);
  if (free.length > 0 && free.length < intents.length) return cut(free);
  if (intents.length > 1) return cut(intents.slice(0, Math.ceil(intents.length / 2)));
  stallFor(log, deps);
  return stop;
}

function stallFor(log: string, { signer, stall }: PreparationDeps): void {
  const stalled = stallOf({ code: 0, codespace: "", log }, signer.address, "the fee");
  if (stalled) stall.begin(stalled);
}

function retry(...groups: readonly (readonly Intent[])[]): Prepared {
  return { kind: "retry", loads: groups.map((intents) => ({ intents, cut: false })) };
}

function cut(intents: readonly Intent[]): Prepared {
  return { kind: "retry", loads: [{ intents, cut: true }] };
}

/** A height knows no time; blocks are reckoned to take as long as the life of a timeout timestamp allows them. */
function blocksUntil(latestMs: number, { timeNs }: Head): number {
  const perBlockMs = outboxTimeoutMs / outboxTimeoutBlocks;
  const blocks = Math.floor((latestMs - nsToMs(timeNs)) / perBlockMs);
  return Math.min(Math.max(blocks, 1), outboxTimeoutBlocks);
}

function sum(intents: readonly Intent[], of: (intent: Intent) => bigint): bigint {
  return intents.reduce((total, intent) => total + of(intent), 0n);
}

/**
 * Time-out timeouts for unordered transactions, never used twice. They increase; the journal keeps the highest. One bounded by
 * an expiry may be lower: its distance from the expiry differs in every run, as the chain may know the same one from before.
 */
export function createTimeouts(lastNs: bigint, inUse: Iterable<bigint> = [], startMs = 0) {
  let highestNs = lastNs;
  /** Less than a millisecond, which is as exact as an expiry. */
  const distanceNs = BigInt(Math.floor(startMs)) % nsPerMs;
  const used = new Set(inUse);

  function free(fromNs: bigint, step: bigint): bigint {
    let timeoutNs = fromNs;
    while (used.has(timeoutNs)) timeoutNs += step;
    return timeoutNs;
  }

  return {
    /** Not after `latestNs`. Undefined while the next one would lie further ahead than the chain takes. */
    next(head: Head, nowMs: number, latestNs?: bigint): bigint | undefined {
      const lifeNs = msToNs(outboxTimeoutMs);
      const furthestNs = head.timeNs + msToNs(outboxTimeoutAheadMs);
      // Our clock counts as long as the chain's agrees: after a halt the next block's time is now, not the last one's.
      const byClockNs = msToNs(nowMs) + lifeNs;
      const byChainNs = head.timeNs + lifeNs;
      const wantedNs = smallest(largest(byClockNs, byChainNs), furthestNs);
      const growingNs = free(largest(wantedNs, highestNs + 1n), 1n);
      const isBounded = latestNs !== undefined && latestNs < growingNs;
      if (!isBounded && growingNs > furthestNs + tieBreakNs) return undefined;
      const timeoutNs = isBounded ? free(latestNs - distanceNs, -1n) : growingNs;
      for (const each of used) if (each < head.timeNs) used.delete(each);
      used.add(timeoutNs);
      highestNs = largest(highestNs, timeoutNs);
      return timeoutNs;
    },
  };
}

/** Transactions of one instant differ by nanoseconds; a second of those is more than there ever are. */
const tieBreakNs = 1_000_000_000n;
