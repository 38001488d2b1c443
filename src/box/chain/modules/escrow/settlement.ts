/** The arithmetic of escrow: what has been earned since the last settlement, and out of whose deposit it is paid. */
import type { Coin } from "../../../../market/coin.ts";
import {
  compareDecimals,
  type Decimal,
  decimalOf,
  mulDecimals,
  quoDecimals,
  subDecimals,
  toInteger,
} from "../../../../market/decimal.ts";
import { smallest } from "../../../../runtime/bigint.ts";
import type { Deposit, EscrowAccount, Payment } from "./records.ts";

const akt = "uakt";

export interface SettledEscrow {
  readonly account: EscrowAccount;
  readonly payments: readonly Payment[];
  readonly overdrawn: boolean;
  /** What goes to providers at once, beside what their payments hold. */
  readonly transfers: readonly Transfer[];
}

interface Transfer {
  readonly to: string;
  readonly coin: Coin;
}

/**
 * Pays for `blocks` blocks, one payment after the other; those at the end get less when the money runs out. A payment
 * that was overdrawn before earns nothing new but what it is still owed. With a price, uakt steps in for what is missing.
 */
export function settle(
  account: EscrowAccount,
  payments: readonly Payment[],
  blocks: bigint,
  aktPrice?: Decimal,
): SettledEscrow {
  let paying = account;
  let overdrawn = false;
  const settled = payments.map((payment): Payment => {
    const due = payment.state === "overdrawn" ? payment.unsettled : earned(payment, blocks);
    const { account: after, paid } = deduct(paying, { denom: payment.rate.denom, amount: due });
    paying = after;
    const unsettled = (payment.state === "overdrawn" ? 0n : payment.unsettled) + due - paid;
    if (paid < due) overdrawn = true;
    return { ...payment, state: paid < due ? "overdrawn" : "open", balance: payment.balance + paid, unsettled };
  });
  if (!overdrawn) return { account: paying, payments: settled, overdrawn, transfers: [] };
  const rescued = aktPrice
    ? payInAkt(paying, settled, aktPrice)
    : { account: paying, payments: settled, transfers: [] };
  if (rescued.payments.every(({ state }) => state !== "overdrawn")) return { ...rescued, overdrawn: false };
  return {
    account: { ...rescued.account, state: "overdrawn" },
    payments: rescued.payments.map((payment) => ({ ...payment, state: "overdrawn" })),
    overdrawn,
    transfers: rescued.transfers,
  };
}

/**
 * Pays what is still owed out of the account's uakt, at the oracle's price. What was owed in uact stays in the books as
 * a debt all the same, so such an account is not settled again until the next deposit. The chain carries fractions of
 * a uakt from here on; we take a whole one, and decide by the exact numbers what is settled.
 */
function payInAkt(
  account: EscrowAccount,
  payments: readonly Payment[],
  price: Decimal,
): Omit<SettledEscrow, "overdrawn"> {
  let paying = account;
  const transfers: Transfer[] = [];
  const settled = payments.map((payment): Payment => {
    const held = paying.deposits.filter(({ balance }) => balance.denom === akt);
    const most = decimalOf(held.reduce((sum, { balance }) => sum + balance.amount, 0n));
    if (payment.state !== "overdrawn" || payment.unsettled === 0n || most.atto === 0n) return payment;
    const needed = quoDecimals(decimalOf(payment.unsettled), price);
    const given = compareDecimals(needed, most) > 0 ? most : needed;
    paying = deduct(paying, { denom: akt, amount: toInteger(given, "up") }).account;
    const coin = { denom: akt, amount: toInteger(given, "truncate") };
    if (coin.amount > 0n) transfers.push({ to: payment.owner, coin });
    const owed = subDecimals(decimalOf(payment.unsettled), mulDecimals(given, price));
    if (owed.atto > 0n) return { ...payment, unsettled: toInteger(owed, "up") };
    return { ...payment, state: "open", unsettled: 0n };
  });
  return { account: paying, payments: settled, transfers };
}

/** The fraction of a coin is not carried over to the next settlement: frequent settlement loses it often. */
export function earned({ rate }: Payment, blocks: bigint): bigint {
  return toInteger(mulDecimals(rate.amount, decimalOf(blocks)), "truncate");
}

/** Takes from the deposits, oldest first. What they do not cover turns the funds negative and is not paid. */
function deduct(account: EscrowAccount, due: Coin): { account: EscrowAccount; paid: bigint } {
  let open = due.amount;
  const deposits: Deposit[] = [];
  for (const deposit of account.deposits) {
    const { denom, amount } = deposit.balance;
    const taken = denom === due.denom ? smallest(amount, open) : 0n;
    open -= taken;
    if (amount > taken) deposits.push({ ...deposit, balance: { denom, amount: amount - taken } });
  }
  const paid = due.amount - open;
  return {
    account: {
      ...account,
      deposits,
      funds: changed(account.funds, due.denom, -due.amount),
      transferred: changed(account.transferred, due.denom, paid),
    },
    paid,
  };
}

/** The coins with `change` added to one of them; a denom that is new comes last. */
export function changed(coins: readonly Coin[], denom: string, change: bigint): Coin[] {
  if (!coins.some((coin) => coin.denom === denom)) return [...coins, { denom, amount: change }];
  return coins.map((coin) => (coin.denom === denom ? { denom, amount: coin.amount + change } : coin));
}
