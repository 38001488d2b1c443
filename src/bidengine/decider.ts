/** Gathers how things are with us, and has orders decided on by that. The same for a real order and a screened one. */
import type { Chain } from "../chain/chain.ts";
import { packedMessageOf } from "../chain/outbox/intent.ts";
import type { Order } from "../chain/records.ts";
import { unpackMessage } from "../chain/tx/messages.ts";
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { TableReads } from "../journal/tables.ts";
import type { Coin } from "../market/coin.ts";
import type { Fits } from "../market/fit.ts";
import type { Attribute } from "../market/group-spec.ts";
import { addTo } from "../market/group-totals.ts";
import { deploymentOf, formatOrderId } from "../market/ids.ts";
import { isExposed } from "../market/manifest-rules.ts";
import { type Clock, msToNs } from "../runtime/clock.ts";
import type { Tally } from "./bid-status.ts";
import type { Capacity } from "./capacity.ts";
import { decide, screen } from "./decision/decide.ts";
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
import { bidMirrorBlocksBehind } from "./decision/readiness-checks.ts";
import type { BidCounts } from "./market-memory.ts";
import type { Pricing } from "./pricing/pricing.ts";
import type { FollowedProviderRecord } from "./provider-record.ts";

interface DeciderDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "status" | "provider">;
  readonly read: Pick<TableReads, "intents" | "switches">;
  readonly capacity: Capacity;
  readonly pricing: Pricing;
  readonly policies: () => BidContext["policies"];
  readonly own: Pick<FollowedProviderRecord, "entry" | "params">;
  readonly bidCounts: BidCounts;
  readonly tally: Tally;
  readonly configuredAttributes: readonly Attribute[];
  readonly bidDeposit: Coin;
  readonly minimumBalance: readonly Coin[];
  readonly reclamationWindowMs: number;
  readonly missingSettings?: readonly string[];
  readonly fee: Coin | undefined;
  readonly clock: Clock;
}

export type Decider = ReturnType<typeof createDecider>;

export function createDecider(deps: DeciderDeps) {
  const { chain, read, capacity, own, bidCounts, tally, clock, fee } = deps;
  const { mirror } = chain;
  const promised = promisedCoins(read, fee);
  const reclamationWindowNs = msToNs(deps.reclamationWindowMs);
  const pricing: Pricing = { ...deps.pricing, quote: timed(deps.pricing, tally, clock) };

  function context(): BidContext {
    return {
      provider: chain.provider,
      own: own.entry,
      configuredAttributes: deps.configuredAttributes,
      params: own.params,
      ...wallet(),
      bidDeposit: deps.bidDeposit,
      reclamationWindowNs,
      mirror: { ready: mirror.ready, behind: behind() },
      pause: pauseAt(clock.now()),
      missingSettings: deps.missingSettings ?? [],
      policies: deps.policies(),
      capacity,
      nowMs: clock.now(),
    };
  }

  const wallet = () => ({
    balances: new Map([...mirror.balances()].map(({ denom, amount }) => [denom, amount])),
    promised: promised.sums(),
    fee,
    minimumBalance: deps.minimumBalance,
  });

  function behind(): bigint | undefined {
    const { head } = chain.status;
    if (head === undefined) return undefined;
    return head > mirror.height ? head - mirror.height : 0n;
  }

  function pauseAt(nowMs: number): BidContext["pause"] {
    const pause = read.switches.get(pauseSwitch);
    if (!pause || !isPausing(pause, nowMs)) return undefined;
    return { sinceMs: pause.fromMs ?? pause.sinceMs, reason: pause.reason };
  }

  const requestOf = ({ id, spec, reclamationWindowNs: window }: Order): BidRequest => ({
    owner: id.owner,
    group: spec,
    reclamationWindowNs: window,
  });

  function decideOn(order: Order, isOnly: boolean, isRecheck: boolean, signal: AbortSignal): Promise<Decision> {
    const startedMs = clock.monotonicMs();
    const bidsOnOrder = bidCounts.of(formatOrderId(order.id));
    const inputs = {
      request: { ...requestOf(order), isOnlyGroup: isOnly },
      ...{ bidsOnOrder, context: context(), isRecheck },
    };
    const deciding = decide(inputs, pricing, signal);
    // Up to here nothing was waited for. Of a thousand orders at once the rest would be the time of all the others.
    tally.deciding.observe((clock.monotonicMs() - startedMs) / 1_000);
    return deciding;
  }

  return {
    get isBehind() {
      const blocks = behind();
      return !mirror.ready || blocks === undefined || blocks > BigInt(bidMirrorBlocksBehind);
    },
    get isPaused() {
      return pauseAt(clock.now()) !== undefined;
    },
    async decide(order: Order, isRecheck: boolean, signal: AbortSignal): Promise<Decision> {
      const isOnly = !isExposed(order.spec) && (await isOnlyGroup(order, chain, signal));
      return decideOn(order, isOnly, isRecheck, signal);
    },
    screen: (asked: BidRequest, signal: AbortSignal): Promise<Decision> => screen(asked, context(), pricing, signal),
    terms: (order: Order): BidTerms =>
      bidTerms({ request: requestOf(order), bidsOnOrder: undefined, context: context() }),
    /** Whether the wallet still has enough: others may have been promised its coins since the decision. */
    covers: ({ deposit }: BidTerms) => shortagesOf(walletNeeds(deposit, wallet())).length === 0,
    /** What the next bid wants of the wallet; nothing while that is not known yet. */
    needs(): readonly WalletNeed[] {
      const { params } = own;
      if (!mirror.ready || !params) return [];
      return walletNeeds(depositOf({ bidDeposit: deps.bidDeposit, params }), wallet());
    },
    /** Whether the caps still leave room: others may have been promised it since the decision. */
    withinCaps({ spec }: Order, offer: Fits["offer"]): boolean {
      const { yes, dryRun } = deps.policies().caps(withOffer(spec, offer), capacity.sold);
      return yes || dryRun;
    },
    promise: (key: string, { deposit }: BidTerms) => promised.add(key, deposit),
    kept: promised.remove,
  };
}

/** By the chain: the mirror has only open orders, and those of other groups may be over. */
async function isOnlyGroup({ id }: Order, { mirror, queries }: DeciderDeps["chain"], signal: AbortSignal) {
  const { value } = await queries.deployment(deploymentOf(id), { atOrAbove: mirror.height, signal });
  return value?.groups.length === 1;
}

/** Deposits and fees of bids that are decided and not paid, also those from before the start. */
function promisedCoins(read: DeciderDeps["read"], fee: Coin | undefined) {
  const promises = new Map<string, readonly Coin[]>();
  const totals = new Map<string, bigint>();
  function remove(key: string): void {
    for (const { denom, amount } of promises.get(key) ?? []) addTo(totals, denom, -amount);
    promises.delete(key);
  }
  function add(key: string, deposit: Coin): void {
    remove(key);
    const coins = fee ? [deposit, fee] : [deposit];
    promises.set(key, coins);
    for (const { denom, amount } of coins) addTo(totals, denom, amount);
  }
  for (const intent of read.intents.unsettled(read.intents.owed())) {
    if (intent.what !== "createBid") continue;
    const amount = unpackMessage("createBid", packedMessageOf(intent)).deposit?.amount;
    if (amount) add(intent.subject, { denom: amount.denom, amount: BigInt(amount.amount) });
  }
  return { add, remove, sums: (): ReadonlyMap<string, bigint> => totals };
}

function timed(pricing: Pricing, tally: Tally, clock: Clock): Pricing["quote"] {
  return async (request, signal) => {
    const startedMs = clock.monotonicMs();
    const quote = await pricing.quote(request, signal);
    tally.pricing.observe((clock.monotonicMs() - startedMs) * 1_000);
    return quote;
  };
}
