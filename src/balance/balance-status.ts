/** Status of wallet, earnings and escrows. Read every second, so it only takes a few sums from the journal. */
import type { Journal } from "../journal/journal.ts";
import type { LedgerKind } from "../journal/ledger.ts";
import { type Coin, formatCoin } from "../market/coin.ts";

export interface BalanceStatus {
  readonly wallet: readonly WalletLine[];
  readonly money: readonly MoneyLine[];
  /** Leases that are paid out of escrow, and those among them whose escrow is spent. */
  readonly leases: number;
  readonly spent: number;
  readonly next: { readonly lease: string; readonly height: bigint; readonly atMs: number } | undefined;
  /** In flight, and settled since the start. */
  readonly withdrawals: { readonly waiting: number; readonly done: number; readonly failed: number };
  readonly error: string | undefined;
}

export interface WalletLine extends Coin {
  /** Which threshold it is below, and by how much. */
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

export type EscrowsWatched = Pick<BalanceStatus, "spent" | "next" | "withdrawals" | "error">;

export function readBalanceStatus(
  { read }: Pick<Journal, "read">,
  wallet: BalanceStatus["wallet"],
  escrows: EscrowsWatched,
) {
  return { wallet, money: moneyLines(read), leases: read.payments.runningCount(), ...escrows };
}

function moneyLines({ ledger }: Journal["read"]): MoneyLine[] {
  const totals = ledger.totals();
  const denoms = new Set(totals.map(({ denom }) => denom));
  return [...denoms].sort().map((denom) => {
    const of = (kind: LedgerKind) => totals.find((total) => total.kind === kind && total.denom === denom)?.amount ?? 0n;
    const [earned, withdrawn, fees] = [of("accrued"), of("withdrawn"), of("fee")];
    return { denom, earned, withdrawn, owed: earned - withdrawn, locked: of("deposit") - of("refund"), fees };
  });
}

export function formatBalance({ wallet, money, leases, spent, withdrawals, error }: BalanceStatus): string {
  const coins = wallet.map(formatCoin).join(", ") || "nothing in the wallet";
  const owed = money.filter((line) => line.owed > 0n).map((line) => formatCoin({ ...line, amount: line.owed }));
  const lows = wallet.flatMap(({ low }) => low ?? []);
  return [
    coins,
    `${leases} lease(s)${owed.length > 0 ? ` owe ${owed.join(", ")}` : ""}`,
    ...(spent > 0 ? [`${spent} without escrow`] : []),
    ...(withdrawals.waiting > 0 ? [`${withdrawals.waiting} withdrawal(s) under way`] : []),
    ...lows,
    ...(error === undefined ? [] : [error]),
  ].join("; ");
}

export interface BalanceOptions {
  /** Reserve that bids leave in the wallet, and the threshold of the low-balance warning. */
  readonly minimumBalance: readonly Coin[];
  readonly warnBalance: readonly Coin[];
  /** Longest time between two reads of an escrow. */
  readonly intervalMs: number;
  /** How often earnings are withdrawn where that is worth the fee; 0 for never. */
  readonly periodMs: number;
  /** Least amount of a withdrawal while no token price is known. */
  readonly threshold: readonly Coin[];
  /** Estimated fee of one withdrawal; undefined with a fee grant. */
  readonly fee: Coin | undefined;
}
