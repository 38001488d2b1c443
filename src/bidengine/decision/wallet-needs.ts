/** What the next bid wants of the wallet: its deposit and its fee, beside what is promised and what is to be kept. */
import { amountOf, type Coin, formatCoin } from "../../market/coin.ts";
import { addTo } from "../../market/group-totals.ts";
import type { Standing } from "./inputs.ts";

export interface WalletNeed {
  readonly denom: string;
  /** For deposit and fee; 0 of what the wallet is only to keep. */
  readonly needed: bigint;
  /** To bids that are decided and not paid yet. */
  readonly promised: bigint;
  /** By the setting `minimum-balance`. */
  readonly keeps: bigint;
  /** All of that together: with less there is no bid. */
  readonly least: bigint;
  readonly has: bigint;
}

type Wallet = Pick<Standing, "balances" | "promised" | "fee" | "minimumBalance">;

/** One for each denomination that a bid costs or that the wallet is to keep. */
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

export function tellShortages(shortages: readonly WalletNeed[]): string {
  return shortages.map(tell).join("; ");
}

function tell({ denom, needed, promised, keeps, least, has }: WalletNeed): string {
  const coin = (amount: bigint) => formatCoin({ denom, amount });
  const kept = `the wallet keeps ${coin(keeps)} (minimum-balance) and has ${coin(has)}`;
  if (has < keeps) return kept;
  const besides = promised > 0n ? ` beside ${coin(promised)} for other bids` : "";
  const short = `${coin(least - has)} short of the ${coin(needed)} for deposit and fee${besides}`;
  return keeps > 0n ? `${kept}: ${short}` : `the wallet is ${short}`;
}
