/** What others do with escrow: open and close accounts, pay out of them, settle what has been earned. */
import type { DecCoin } from "../../../../market/coin.ts";
import type { Decimal } from "../../../../market/decimal.ts";
import { accountOfPayment, type EscrowAccountKey, type PaymentKey } from "../../../../market/escrow-arithmetic.ts";
import { Panic } from "../../errors.ts";
import type { ChainError, Context } from "../../module.ts";
import { sendFromModule } from "../bank/balances.ts";
import { renewGrant, takeDeposits } from "./deposits.ts";
import { escrowError } from "./errors.ts";
import {
  addPayment,
  type Deposit,
  type EscrowAccount,
  escrowAccounts,
  type Payment,
  payingAccounts,
  payments,
  paymentsOf,
} from "./records.ts";
import { type SettledEscrow, settle } from "./settlement.ts";

/** Who wants to know that an account or a payment has come to its end, because money was all that kept it alive. */
export interface EscrowHooks {
  accountEnded(context: Context, account: EscrowAccount): void;
  paymentEnded(context: Context, payment: Payment): void;
}

export interface Escrow {
  createAccount(context: Context, key: EscrowAccountKey, owner: string, deposits: readonly Deposit[]): void;
  deposit(context: Context, key: EscrowAccountKey, deposits: readonly Deposit[]): void;
  closeAccount(context: Context, key: EscrowAccountKey): void;
  createPayment(context: Context, key: PaymentKey, owner: string, rate: DecCoin): void;
  withdraw(context: Context, key: PaymentKey): void;
  /** Gives back why it could not be closed; most callers go on regardless. */
  closePayment(context: Context, key: PaymentKey): ChainError | undefined;
  /** Settles every account that can no longer pay what has been earned. */
  endDryAccounts(context: Context): void;
}

/**
 * `aktPrice` is set while the chain makes no uact, since too little uakt backs it: what an account owes and lacks in uact
 * is then paid out of the uakt in it, at this price in uact.
 */
export function createEscrow(hooks: EscrowHooks, aktPrice?: Decimal): Escrow {
  const settleAccount = (context: Context, account: EscrowAccount) => settleNow(context, account, aktPrice);

  /** At its end an account gives back what is left of its deposits. */
  function saveAccount(context: Context, account: EscrowAccount): void {
    const saved = account.state === "open" ? account : refund(context, account);
    escrowAccounts(context).set(account.key, saved);
    if (saved.state === "open") return;
    payingAccounts(context).delete(account.key);
    hooks.accountEnded(context, saved);
  }

  function savePayment(context: Context, payment: Payment): void {
    payments(context).set(payment.key, payment);
    if (payment.state !== "open") hooks.paymentEnded(context, payment);
  }

  function save(context: Context, account: EscrowAccount, settled: readonly Payment[]): void {
    saveAccount(context, account);
    for (const payment of settled) savePayment(context, payment);
  }

  return {
    createAccount(context, key, owner, deposits) {
      if (escrowAccounts(context).has(key)) throw escrowError("accountExists");
      const empty: EscrowAccount = {
        key,
        owner,
        state: "open",
        transferred: [],
        settledAt: context.height,
        funds: [],
        deposits: [],
      };
      escrowAccounts(context).set(key, takeDeposits(context, empty, deposits));
    },

    deposit(context, key, deposits) {
      const account = accountAt(context, key);
      if (account.state === "closed") throw escrowError("accountClosed");
      const funded = takeDeposits(context, account, deposits);
      if (funded.state === "open") return saveAccount(context, funded);
      // Too late to keep anything alive: the money pays old debt, and what is left of it goes back.
      const { account: settled, payments: owed, overdrawn } = settleAccount(context, funded);
      const paid = owed.map((payment) => payOut(context, ended(payment)));
      save(context, overdrawn ? settled : { ...settled, state: "closed" }, paid);
    },

    closeAccount(context, key) {
      const { account, payments: settled } = settleAccount(context, accountAt(context, key));
      const paid = settled.map((payment) => payOut(context, ended(payment)));
      save(context, ended(account), paid);
    },

    createPayment(context, key, owner, rate) {
      const { account, overdrawn } = settleAccount(context, accountAt(context, accountOfPayment(key)));
      if (overdrawn) throw escrowError("accountOverdrawn");
      if (!account.funds.some(({ denom }) => denom === rate.denom)) throw escrowError("invalidDenomination");
      if (rate.amount.atto === 0n) throw escrowError("paymentRateZero");
      if (payments(context).has(key)) throw escrowError("paymentExists");
      // What this settlement took from the account for older payments is entered nowhere: the chain loses it, so do we.
      saveAccount(context, account);
      addPayment(context, { key, owner, state: "open", rate, balance: 0n, unsettled: 0n, withdrawn: 0n });
    },

    withdraw(context, key) {
      const account = accountAt(context, accountOfPayment(key));
      if (paymentAt(context, key).state !== "open") throw escrowError("paymentClosed");
      const { account: after, payments: settled, overdrawn } = settleAccount(context, account);
      if (overdrawn) return save(context, after, settled);
      // An account that was settled in this block already has nothing to settle, and the chain's program stumbles.
      if (!settled.some((payment) => payment.key === key)) throw new Panic(`couldn't find payment ${key}`);
      const paid = settled.map((payment) => (payment.key === key ? payOut(context, payment) : payment));
      save(context, after, paid);
    },

    closePayment(context, key) {
      const account = accountAt(context, accountOfPayment(key));
      if (paymentAt(context, key).state === "closed") return escrowError("paymentClosed");
      if (account.state === "closed") return escrowError("accountClosed");
      const { account: after, payments: settled } = settleAccount(context, account);
      const paid = settled.map((payment) => (payment.key === key ? payOut(context, ended(payment)) : payment));
      save(context, after, paid);
      return undefined;
    },

    endDryAccounts(context) {
      for (const [key] of [...payingAccounts(context).entries()]) {
        const account = accountAt(context, key);
        const running = paymentsOf(context, key, ["open"]);
        if (running.length === 0) payingAccounts(context).delete(key);
        if (!settle(account, running, context.height - account.settledAt, aktPrice).overdrawn) continue;
        const settlement = settleAccount(context, account);
        save(context, settlement.account, settlement.payments);
      }
    },
  };
}

/**
 * What every step begins with. Payments that run are settled only if a block has passed since the last time: twice in
 * one block, the second settlement sees none of them. An overdrawn account waits for money, its clock has stopped.
 */
function settleNow(context: Context, account: EscrowAccount, aktPrice: Decimal | undefined): SettledEscrow {
  if (account.state === "closed") throw escrowError("accountClosed");
  const [funds] = account.funds;
  if (funds !== undefined && funds.amount < 0n) return { account, payments: [], overdrawn: true, transfers: [] };
  const blocks = account.state === "overdrawn" ? 0n : context.height - account.settledAt;
  const due = paymentsOf(context, account.key, blocks === 0n ? ["overdrawn"] : ["overdrawn", "open"]);
  const settledAt = account.state === "overdrawn" ? account.settledAt : context.height;
  const settlement = settle({ ...account, settledAt }, due, blocks, aktPrice);
  for (const { to, coin } of settlement.transfers) sendFromModule(context, "escrow", to, [coin]);
  if (!settlement.overdrawn) return settlement;
  return { ...settlement, payments: settlement.payments.map((payment) => payOut(context, payment)) };
}

function ended<T extends EscrowAccount | Payment>(record: T): T {
  return record.state === "open" ? { ...record, state: "closed" } : record;
}

function payOut(context: Context, payment: Payment): Payment {
  if (payment.balance === 0n) return payment;
  sendFromModule(context, "escrow", payment.owner, [{ denom: payment.rate.denom, amount: payment.balance }]);
  return { ...payment, balance: 0n, withdrawn: payment.withdrawn + payment.balance };
}

function refund(context: Context, account: EscrowAccount): EscrowAccount {
  const { deposits } = account;
  for (const deposit of deposits) {
    sendFromModule(context, "escrow", deposit.owner, [deposit.balance]);
    if (deposit.source === "grant") renewGrant(context, account.owner, deposit);
  }
  const funds = account.funds.map(({ denom, amount }) => {
    const returned = deposits.filter(({ balance }) => balance.denom === denom);
    return { denom, amount: returned.reduce((rest, { balance }) => rest - balance.amount, amount) };
  });
  return { ...account, funds, deposits: [] };
}

function accountAt(context: Context, key: EscrowAccountKey): EscrowAccount {
  const account = escrowAccounts(context).get(key);
  if (!account) throw escrowError("accountNotFound");
  return account;
}

function paymentAt(context: Context, key: PaymentKey): Payment {
  const payment = payments(context).get(key);
  if (!payment) throw escrowError("paymentNotFound");
  return payment;
}
