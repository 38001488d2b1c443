/** What the wallet lacks for the next bid: its deposit and its fee, beside what is promised and what is to be kept. */
import { type Coin, formatCoin } from "../../market/coin.ts";
import { addTo } from "../../market/group-totals.ts";
import type { Standing } from "./inputs.ts";

export interface WalletShortage {
  readonly denom: string;
  /** For deposit and fee; 0 where a bid costs nothing of it, and the wallet is below what it keeps. */
  readonly needed: bigint;
  /** To bids that are decided and not paid yet. */
  readonly promised: bigint;
  /** By the setting `minimum-balance`. */
  readonly keeps: bigint;
  readonly has: bigint;
}

export type Wallet = Pick<Standing, "balances" | "owed" | "fee" | "minimumBalance">;

/** One for each denomination of which there is too little; none where the bid is covered. */
export function walletShortages(deposit: Coin, { balances, owed, fee, minimumBalance }: Wallet): WalletShortage[] {
  const needs = new Map([[deposit.denom, deposit.amount]]);
  if (fee) addTo(needs, fee.denom, fee.amount);
  const kept = new Map(minimumBalance.map(({ denom, amount }) => [denom, amount]));
  return [...new Set([...needs.keys(), ...kept.keys()])].flatMap((denom) => {
    const [needed, keeps] = [needs.get(denom) ?? 0n, kept.get(denom) ?? 0n];
    const [promised, has] = [owed.get(denom) ?? 0n, balances.get(denom) ?? 0n];
    return has < needed + promised + keeps ? [{ denom, needed, promised, keeps, has }] : [];
  });
}

export function tellShortages(shortages: readonly WalletShortage[]): string {
  return shortages.map(tell).join("; ");
}

function tell({ denom, needed, promised, keeps, has }: WalletShortage): string {
  const coin = (amount: bigint) => formatCoin({ denom, amount });
  const kept = `the wallet keeps ${coin(keeps)} (minimum-balance) and has ${coin(has)}`;
  if (has < keeps) return kept;
  const besides = promised > 0n ? ` beside ${coin(promised)} for other bids` : "";
  const short = `${coin(needed + promised + keeps - has)} short of the ${coin(needed)} for deposit and fee${besides}`;
  return keeps > 0n ? `${kept}: ${short}` : `the wallet is ${short}`;
}
