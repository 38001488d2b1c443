/** How things are with our money, for status, view and bus. */
import type { Coin } from "../market/coin.ts";

export interface BalanceDocument {
  readonly wallet: readonly WalletLine[];
  /** Per denomination. */
  readonly money: readonly MoneyLine[];
  /** Leases that are paid out of escrow, and those among them whose escrow is spent. */
  readonly leases: number;
  readonly spent: number;
  /** The escrow that runs out next. */
  readonly next: RunOut | undefined;
  /** Withdrawals under way, and since the start those that brought something and those that failed. */
  readonly withdrawals: { readonly waiting: number; readonly done: number; readonly failed: number };
  readonly trouble: string | undefined;
}

export interface WalletLine extends Coin {
  /** Which threshold it is below, and by how much, in words; undefined where it is below none. */
  readonly low: string | undefined;
}

export interface MoneyLine {
  readonly denom: string;
  /** By all leases since the ledger began; of that, what has come in, and what is still in escrow. */
  readonly earned: bigint;
  readonly withdrawn: bigint;
  readonly owed: bigint;
  /** In deposits of our bids and leases. */
  readonly locked: bigint;
  /** Spent on fees since the ledger began. */
  readonly fees: bigint;
}

export interface RunOut {
  readonly lease: string;
  readonly height: bigint;
  /** About when that is. */
  readonly atMs: number;
}
