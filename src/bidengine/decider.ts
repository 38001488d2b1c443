/** Gathers the bid context and decides by it, for orders on the chain and for screened ones. */
import type { Chain } from "../chain/chain.ts";
import { packedMessageOf } from "../chain/outbox/intent.ts";
import type { Order } from "../chain/records.ts";
import { unpackMessage } from "../chain/tx/messages.ts";
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import type { TableReads } from "../journal/tables.ts";
import type { Coin } from "../market/coin.ts";
import type { Fits } from "../market/fit.ts";
import type { Attribute } from "../market/group-spec.ts";
import { addTo } from "../market/group-totals.ts";
import { deploymentOf, formatOrderId } from "../market/ids.ts";
import { isExposed } from "../market/manifest-rules.ts";
import { largest } from "../runtime/bigint.ts";
import { type Clock, msToNs } from "../runtime/clock.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { BidCounters } from "./bid-status.ts";
import type { Capacity } from "./capacity.ts";
import { bidMirrorBlocksBehind, decide, screen } from "./decision/decide.ts";
import type { Decision } from "./decision/decision.ts";
import { type BidContext, type BidRequest, withOffer } from "./decision/inputs.ts";
import {
  type BidTerms,
  bidTerms,
  depositOf,
  shortagesOf,
  type WalletNeed,
  walletNeeds,
} from "./decision/money-checks.ts";
import type { BidCounts } from "./order-ends.ts";
import type { Pricing } from "./pricing/pricing.ts";
import type { FollowedProviderRecord } from "./provider-record.ts";

export interface BidEngineOptions {
  /** Attributes in provider.yaml. */
  readonly attributes: readonly Attribute[];
  readonly bidDeposit: Coin;
  /** What bids leave in the wallet; below that in any denomination, none is made. */
  readonly minimumBalance: readonly Coin[];
  /** 0 turns it off. */
  readonly bidTimeoutMs: number;
  /** 0 agrees to none. */
  readonly reclamationWindowMs: number;
  /** What sending one bid costs at most; undefined where a fee granter pays. */
  readonly fee: Coin | undefined;
  /** Flags without which no lease could be served; while there are any, nothing is bid. */
  readonly missingSettings?: readonly string[];
}

interface DeciderDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "status" | "provider">;
  readonly journal: Pick<Journal, "read">;
  readonly capacity: Capacity;
  readonly pricing: Pricing;
  readonly policies: { readonly judge: BidContext["policies"] };
  readonly record: Pick<FollowedProviderRecord, "current" | "params">;
  readonly bidCounts: BidCounts;
  readonly counters: BidCounters;
}

export type Decider = ReturnType<typeof createDecider>;

export function createDecider(options: BidEngineOptions, deps: DeciderDeps) {
  const { chain, journal, capacity, record, bidCounts, counters, clock } = deps;
  const { fee, minimumBalance, bidDeposit, missingSettings = [] } = options;
  const { mirror } = chain;
  const { read } = journal;
  const held = heldCoins(read, fee);
  const pricing: Pick<Pricing, "quote"> = { quote: timed(deps.pricing, counters, clock) };

  const wallet = () => ({
    balances: new Map([...mirror.balances()].map(({ denom, amount }) => [denom, amount])),
    promised: held.sums,
    fee,
    minimumBalance,
  });

  function context(): BidContext {
    return {
      provider: chain.provider,
      record: record.current,
      configuredAttributes: options.attributes,
      params: record.params,
      ...wallet(),
      bidDeposit,
      reclamationWindowNs: msToNs(options.reclamationWindowMs),
      mirror: { ready: mirror.ready, behind: behind() },
      pause: currentPause(),
      missingSettings,
      policies: deps.policies.judge,
      capacity,
      nowMs: clock.now(),
    };
  }

  function behind(): bigint | undefined {
    const { head } = chain.status;
    return head === undefined ? undefined : largest(head - mirror.height, 0n);
  }

  function currentPause(): BidContext["pause"] {
    const pause = read.switches.get(pauseSwitch);
    if (!pause || !isPausing(pause, clock.now())) return undefined;
    return { sinceMs: pause.fromMs ?? pause.sinceMs, reason: pause.reason };
  }

  const requestOf = ({ id, spec, reclamationWindowNs }: Order): BidRequest => ({
    owner: id.owner,
    group: spec,
    reclamationWindowNs,
  });

  return {
    get isBehind() {
      const blocks = behind();
      return !mirror.ready || blocks === undefined || blocks > BigInt(bidMirrorBlocksBehind);
    },
    get isPaused() {
      return currentPause() !== undefined;
    },
    async decide(order: Order, isRecheck: boolean, signal: AbortSignal): Promise<Decision> {
      const isOnlyGroup = !isExposed(order.spec) && (await isAlone(order, chain, signal));
      const startedMs = clock.monotonicMs();
      const request = { ...requestOf(order), isOnlyGroup };
      const bidsOnOrder = bidCounts.of(formatOrderId(order.id));
      const deciding = decide({ request, bidsOnOrder, context: context(), isRecheck }, pricing, signal);
      // Synchronous up to here; the rest waits for prices.
      counters.deciding.observe((clock.monotonicMs() - startedMs) / 1_000);
      return deciding;
    },
    screen: (request: BidRequest, signal: AbortSignal) => screen(request, context(), pricing, signal),
    terms: (order: Order): BidTerms => bidTerms(requestOf(order), context()),
    /** Whether the wallet still has enough: a concurrent decision may have taken it. */
    covers: ({ deposit }: BidTerms) => shortagesOf(walletNeeds(deposit, wallet())).length === 0,
    /** What the next bid needs of the wallet; empty while that is not known yet. */
    needs(): readonly WalletNeed[] {
      const { params } = record;
      return mirror.ready && params ? walletNeeds(depositOf({ bidDeposit, params }), wallet()) : [];
    },
    /** Whether the caps still leave room: a concurrent decision may have taken it. */
    withinCaps({ spec }: Order, offer: Fits["offer"]): boolean {
      const { yes, dryRun } = deps.policies.judge.caps(withOffer(spec, offer), capacity.sold);
      return yes || dryRun;
    },
    /** Sets the coins of a bid aside until its intent is settled. */
    hold: (key: string, { deposit }: BidTerms) => held.add(key, deposit),
    release: held.remove,
  };
}

/** By the chain: the mirror has only open orders, and those of other groups may be over. */
async function isAlone({ id }: Order, { mirror, queries }: DeciderDeps["chain"], signal: AbortSignal) {
  const { value } = await queries.deployment(deploymentOf(id), { atOrAbove: mirror.height, signal });
  return value?.groups.length === 1;
}

/** Deposits and fees of bids that are decided and not paid, also those from before the start. */
function heldCoins(read: Pick<TableReads, "intents">, fee: Coin | undefined) {
  const byOrder = new Map<string, readonly Coin[]>();
  const sums = new Map<string, bigint>();
  function remove(key: string): void {
    for (const { denom, amount } of byOrder.get(key) ?? []) addTo(sums, denom, -amount);
    byOrder.delete(key);
  }
  function add(key: string, deposit: Coin): void {
    remove(key);
    const coins = fee ? [deposit, fee] : [deposit];
    byOrder.set(key, coins);
    for (const { denom, amount } of coins) addTo(sums, denom, amount);
  }
  for (const intent of read.intents.unsettled(read.intents.owed())) {
    if (intent.what !== "createBid") continue;
    const amount = unpackMessage("createBid", packedMessageOf(intent)).deposit?.amount;
    if (amount) add(intent.subject, { denom: amount.denom, amount: BigInt(amount.amount) });
  }
  return { add, remove, sums: sums as ReadonlyMap<string, bigint> };
}

function timed(pricing: Pricing, counters: BidCounters, clock: Clock): Pricing["quote"] {
  return async (request, signal) => {
    const startedMs = clock.monotonicMs();
    const quote = await pricing.quote(request, signal);
    counters.pricing.observe((clock.monotonicMs() - startedMs) * 1_000);
    return quote;
  };
}
