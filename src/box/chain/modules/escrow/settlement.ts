/** The arithmetic of escrow: what has been earned since the last settlement, and out of whose deposit it is paid. */
import type { Coin } from "../../../../market/coin.ts";
import { decimalOf, mulDecimals, toInteger } from "../../../../market/decimal.ts";
import { smallest } from "../../../../runtime/bigint.ts";
import type { Deposit, EscrowAccount, Payment } from "./records.ts";

export interface Settled {
  readonly account: EscrowAccount;
  readonly payments: readonly Payment[];
  readonly overdrawn: boolean;
}

/**
 * Pays for `blocks` blocks, one payment after the other; those at the end get less when the money runs out. A payment
 * that was overdrawn before earns nothing new but what it is still owed.
 */
export function settle(account: EscrowAccount, payments: readonly Payment[], blocks: bigint): Settled {
  let paying = account;
  let overdrawn = false;
  const settled = payments.map((payment): Payment => {
    const due = payment.state === "overdrawn" ? payment.unsettled : earned(payment, blocks);
    const { account: after, paid } = deduct(paying, { denom: payment.rate.denom, amount: due });
    paying = after;
    const unsettled = (payment.state === "overdrawn" ? 0n : payment.unsettled) + due - paid;
    if (paid < due) overdrawn = true;
    return { ...payment, state: "open", balance: payment.balance + paid, unsettled };
  });
  if (!overdrawn) return { account: paying, payments: settled, overdrawn };
  return {
    account: { ...paying, state: "overdrawn" },
    payments: settled.map((payment) => ({ ...payment, state: "overdrawn" })),
    overdrawn,
  };
}

/** The fraction of a coin is not carried over to the next settlement: whoever settles often loses it often. */
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
