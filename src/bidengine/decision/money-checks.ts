/** What a bid costs us and brings: its deposit, the window that it promises, and the price. */
import { amountOf, type Coin, type DecCoin, formatCoin, isDollar, showDecCoin, uakt } from "../../market/coin.ts";
import { compareDecimals, subDecimals } from "../../market/decimal.ts";
import { addTo } from "../../market/group-totals.ts";
import type { Quote } from "../pricing/pricing.ts";
import { listed } from "./bounded-text.ts";
import { type BidCheck, type CheckVerdict, fail, pass } from "./decision.ts";
import type { BidContext, BidRequest } from "./inputs.ts";

export const denominationKnown: BidCheck = ({ request: { group } }) => {
  const denoms = [...new Set(group.units.map(({ price }) => price.denom))];
  const unknown = denoms.filter((denom) => denom !== uakt && !isDollar(denom));
  if (unknown.length > 0)
    return fail("never", `we do not know what ${listed(unknown, (denom) => denom || "no denomination")} is worth`);
  return pass(`it pays in ${listed(denoms)}`);
};

/** Our window is promised where the order requests one, and must be at least as long. */
export const reclamationAgreed: BidCheck = ({ request, context }) => {
  const wantedNs = request.reclamationWindowNs;
  const oursNs = context.reclamationWindowNs;
  if (wantedNs === undefined) return pass("the order requires no notice before a reclamation");
  const evidence = { wanted: showNs(wantedNs), ours: showNs(oursNs) };
  const wanted = `the order requires a notice of ${showNs(wantedNs)} before a reclamation`;
  if (oursNs === 0n) return fail("never", `${wanted}, and we give none (reclamation-window)`, evidence);
  if (wantedNs > oursNs)
    return fail("never", `${wanted}, and we give ${showNs(oursNs)} (reclamation-window)`, evidence);
  if (!context.params) return fail("time", "the parameters of the market have not been read yet", evidence);
  const { minReclamationWindowNs: least, maxReclamationWindowNs: most } = context.params;
  if (oursNs < least || oursNs > most) {
    const bounds = `from ${showNs(least)} to ${showNs(most)}`;
    return fail("never", `the chain takes notices ${bounds}, not our ${showNs(oursNs)} (reclamation-window)`, evidence);
  }
  return pass(`${wanted}, and we give ${showNs(oursNs)}`, evidence);
};

export interface BidTerms {
  readonly deposit: Coin;
  /** Undefined where the order requests none. */
  readonly reclamationWindowNs: bigint | undefined;
}

export function bidTerms(request: BidRequest, context: BidContext): BidTerms {
  const window = request.reclamationWindowNs === undefined ? undefined : context.reclamationWindowNs;
  return { deposit: depositOf(context), reclamationWindowNs: window };
}

/** The larger of what we want to deposit and what the chain demands. */
export function depositOf({ bidDeposit, params }: Pick<BidContext, "bidDeposit" | "params">): Coin {
  const least = params?.minDeposits.find(({ denom }) => denom === bidDeposit.denom);
  return least && least.amount > bidDeposit.amount ? least : bidDeposit;
}

export const depositCovered: BidCheck = ({ context }) => {
  const { params } = context;
  if (!params) return fail("time", "the parameters of the market have not been read yet");
  const deposit = depositOf(context);
  if (!params.minDeposits.some(({ denom, amount }) => denom === deposit.denom && amount > 0n))
    return fail("never", `the chain takes no deposits in ${deposit.denom} (bid-deposit)`);
  const needs = walletNeeds(deposit, context);
  const shortages = shortagesOf(needs);
  if (shortages.length > 0) {
    const short = shortages.map(({ denom, needed, promised, keeps, has }) => ({
      ...{ denom, needed: String(needed), owed: String(promised), minimum: String(keeps), balance: String(has) },
    }));
    return fail("wallet", describeShortages(shortages), { short });
  }
  const { denom } = deposit;
  const { has = 0n, needed = 0n, promised = 0n } = needs.find((need) => need.denom === denom) ?? {};
  const evidence = { deposit: formatCoin(deposit), left: formatCoin({ denom, amount: has - needed - promised }) };
  return pass(`the wallet pays the deposit of ${evidence.deposit} and has ${evidence.left} left`, evidence);
};

/** Bids that ended count too, and the chain lets the limit itself be passed by one. */
export const bidsLeft: BidCheck = ({ bidsOnOrder, context: { params } }) => {
  if (bidsOnOrder === undefined || !params) return pass("the bids on it are not counted");
  const evidence = { bids: bidsOnOrder, most: params.orderMaxBids };
  const reason = `it has ${bidsOnOrder} bids, and takes ${params.orderMaxBids + 1}`;
  return bidsOnOrder > params.orderMaxBids ? fail("never", reason, evidence) : pass(reason, evidence);
};

export function priceGiven(quote: Quote): CheckVerdict {
  if (quote.price) return pass(`our price is ${showDecCoin(quote.price)} per block`, quote.evidence);
  return fail("prices", quote.reason, quote.evidence);
}

export function priceWithinMax(price: DecCoin, most: DecCoin): CheckVerdict {
  const evidence = { price: showDecCoin(price), most: showDecCoin(most) };
  if (price.denom !== most.denom)
    return fail("prices", `our price is in ${price.denom}, and it pays in ${most.denom}`, evidence);
  if (price.amount.atto <= 0n) return fail("prices", "a bid of zero is none", evidence);
  const margin = (amount: DecCoin["amount"]) => showDecCoin({ denom: price.denom, amount });
  if (compareDecimals(price.amount, most.amount) > 0) {
    const over = margin(subDecimals(price.amount, most.amount));
    return fail("prices", `our price of ${showDecCoin(price)} is ${over} more than it pays at most`, evidence);
  }
  const under = margin(subDecimals(most.amount, price.amount));
  return pass(`our price of ${showDecCoin(price)} is ${under} below what it pays at most`, evidence);
}

const nsPerSecond = 1_000_000_000n;
const units: [string, bigint][] = [
  ["h", 3600n * nsPerSecond],
  ["min", 60n * nsPerSecond],
  ["s", nsPerSecond],
];

/** "24 h", "90 min"; what is not whole in any of these, in nanoseconds. */
function showNs(ns: bigint): string {
  const [name, size] = units.find(([, size]) => ns >= size && ns % size === 0n) ?? ["ns", 1n];
  return `${ns / size} ${name}`;
}

/** What the next bid needs of the wallet, by denomination. */
export interface WalletNeed {
  readonly denom: string;
  /** For deposit and fee; 0 of a denomination that only has a minimum. */
  readonly needed: bigint;
  /** For bids that are decided and not paid yet. */
  readonly promised: bigint;
  /** By the setting `minimum-balance`. */
  readonly keeps: bigint;
  /** All of that together: with less there is no bid. */
  readonly least: bigint;
  readonly has: bigint;
}

type Wallet = Pick<BidContext, "balances" | "promised" | "fee" | "minimumBalance">;

/** One for each denomination that a bid costs or that has a minimum. */
export function walletNeeds(deposit: Coin, { balances, fee, minimumBalance, ...wallet }: Wallet): WalletNeed[] {
  const needs = new Map([[deposit.denom, deposit.amount]]);
  if (fee) addTo(needs, fee.denom, fee.amount);
  const kept = minimumBalance.map(({ denom }) => denom);
  return [...new Set([...needs.keys(), ...kept])].map((denom) => {
    const [needed, keeps] = [needs.get(denom) ?? 0n, amountOf(minimumBalance, denom)];
    const [promised, has] = [wallet.promised.get(denom) ?? 0n, balances.get(denom) ?? 0n];
    return { denom, needed, promised, keeps, least: needed + promised + keeps, has };
  });
}

export function shortagesOf(needs: readonly WalletNeed[]): WalletNeed[] {
  return needs.filter(({ has, least }) => has < least);
}

export function describeShortages(shortages: readonly WalletNeed[]): string {
  return shortages.map(describe).join("; ");
}

function describe({ denom, needed, promised, keeps, least, has }: WalletNeed): string {
  const coin = (amount: bigint) => formatCoin({ denom, amount });
  const kept = `the wallet keeps ${coin(keeps)} (minimum-balance) and has ${coin(has)}`;
  if (has < keeps) return kept;
  const besides = promised > 0n ? ` beside ${coin(promised)} for other bids` : "";
  const short = `${coin(least - has)} short of the ${coin(needed)} for deposit and fee${besides}`;
  return keeps > 0n ? `${kept}: ${short}` : `the wallet is ${short}`;
}
