/** Escrow's books: who has deposited what for which deployment or bid, and who is paid out of it at what rate. */
import type { Coin, DecCoin } from "../../../../market/coin.ts";
import { accountOfPayment, type EscrowAccountKey, type PaymentKey } from "../../../../market/escrow-arithmetic.ts";
import type { Context } from "../../module.ts";
import type { Table } from "../../store.ts";

export const escrowStates = { open: 1, closed: 2, overdrawn: 3 } as const;

export type EscrowState = keyof typeof escrowStates;

export const depositSources = { balance: 1, grant: 2 } as const;

/** All amounts are whole: the chain cuts the fraction off whatever it moves. Only the rate of a payment has one. */
export interface EscrowAccount {
  readonly key: EscrowAccountKey;
  readonly owner: string;
  readonly state: EscrowState;
  /** What has gone to payments so far, for each denom. */
  readonly transferred: readonly Coin[];
  readonly settledAt: bigint;
  /** What is left, for each denom; below zero it is what is owed. The denom that came first pays for leases. */
  readonly funds: readonly Coin[];
  /** Whose money the funds are, oldest first: it is spent in this order and goes back to them at the end. */
  readonly deposits: readonly Deposit[];
}

export interface Deposit {
  readonly owner: string;
  readonly height: bigint;
  readonly source: keyof typeof depositSources;
  readonly balance: Coin;
}

export interface Payment {
  readonly key: PaymentKey;
  readonly owner: string;
  readonly state: EscrowState;
  /** Per block. */
  readonly rate: DecCoin;
  /** Earned and not yet paid out. */
  readonly balance: bigint;
  /** Earned when the account had nothing left. */
  readonly unsettled: bigint;
  readonly withdrawn: bigint;
}

export function escrowAccounts(context: Context): Table<EscrowAccount> {
  return context.store.table("escrow/accounts");
}

export function payments(context: Context): Table<Payment> {
  return context.store.table("escrow/payments");
}

/** Payments by account, so that settling one does not search them all. */
function paymentKeys(context: Context): Table<readonly PaymentKey[]> {
  return context.store.table("escrow/payments-of-account");
}

export function addPayment(context: Context, payment: Payment): void {
  const account = accountOfPayment(payment.key);
  const keys = [...(paymentKeys(context).get(account) ?? []), payment.key];
  paymentKeys(context).set(account, keys.sort());
  payments(context).set(payment.key, payment);
  payingAccounts(context).set(account, true);
}

/** In the order in which the chain pays them: of each state, by key. */
export function paymentsOf(context: Context, account: EscrowAccountKey, states: readonly EscrowState[]): Payment[] {
  const keys = paymentKeys(context).get(account) ?? [];
  const all = keys.map((key) => payments(context).get(key)).filter((payment) => payment !== undefined);
  return states.flatMap((state) => all.filter((payment) => payment.state === state));
}

/** Open accounts out of which something is paid, for the scan at the end of every block. */
export function payingAccounts(context: Context): Table<true> {
  return context.store.table("escrow/paying-accounts");
}
