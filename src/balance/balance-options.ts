/** What the operator has decided about money. */
import type { Coin } from "../market/coin.ts";

export interface BalanceOptions {
  /** What bids leave in the wallet, and below what it is low. */
  readonly minimumBalance: readonly Coin[];
  readonly warnBalance: readonly Coin[];
  /** How often each escrow is looked at, at the latest. */
  readonly intervalMs: number;
  /** How often earnings come home where that is worth its fee; 0 for no such time. */
  readonly periodMs: number;
  /** What a withdrawal must bring where no price says whether it is worth its fee. */
  readonly threshold: readonly Coin[];
  /** About what one withdrawal costs; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
}
