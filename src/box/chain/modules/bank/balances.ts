/** Who holds how much. Other modules move money only through these functions. */
import { type Coin, formatCoins } from "../../../../market/coin.ts";
import { invariant } from "../../../../runtime/invariant.ts";
import { sdkError } from "../../errors.ts";
import { plainEvent } from "../../events.ts";
import type { Context } from "../../module.ts";
import { ensureAccount, moduleAccounts, moduleAddress } from "../auth/accounts.ts";

/** Keys are "address/denom", so that the coins of one account lie together and sorted. */
export function balanceTable(context: Context) {
  return context.store.table<Coin>("bank/balances");
}

export function supplyTable(context: Context) {
  return context.store.table<Coin>("bank/supply");
}

export function balanceOf(context: Context, address: string, denom: string): bigint {
  return balanceTable(context).get(`${address}/${denom}`)?.amount ?? 0n;
}

/** The receiver's account is made when there is none yet. What a rejection leaves half done, the transaction takes back. */
export function send(context: Context, from: string, to: string, coins: readonly Coin[]): void {
  for (const coin of coins) spend(context, from, coin);
  context.emit(plainEvent("coin_spent", { spender: from, amount: formatCoins(coins) }));
  for (const { denom, amount } of coins) setBalance(context, to, denom, balanceOf(context, to, denom) + amount);
  context.emit(plainEvent("coin_received", { receiver: to, amount: formatCoins(coins) }));
  ensureAccount(context, to);
  context.emit(plainEvent("transfer", { recipient: to, sender: from, amount: formatCoins(coins) }));
  context.emit(plainEvent("message", { sender: from }));
}

export function sendToModule(context: Context, from: string, module: string, coins: readonly Coin[]): void {
  send(context, from, moduleAddress(module), coins);
}

export function sendFromModule(context: Context, module: string, to: string, coins: readonly Coin[]): void {
  send(context, moduleAddress(module), to, coins);
}

/** For genesis only: money comes from nowhere once. */
export function issue(context: Context, to: string, coins: readonly Coin[]): void {
  for (const { denom, amount } of coins) {
    setBalance(context, to, denom, balanceOf(context, to, denom) + amount);
    supplyTable(context).set(denom, { denom, amount: (supplyTable(context).get(denom)?.amount ?? 0n) + amount });
  }
}

/** No module makes or loses money by mistake; checked after every block. */
export function assertSupply(context: Context): void {
  const totals = new Map<string, bigint>();
  for (const [, { denom, amount }] of balanceTable(context).entries()) {
    totals.set(denom, (totals.get(denom) ?? 0n) + amount);
  }
  for (const [denom, { amount: supply }] of supplyTable(context).entries()) {
    const held = totals.get(denom) ?? 0n;
    invariant(held === supply, "all balances of a denom add up to its supply", { denom, held, supply });
    totals.delete(denom);
  }
  invariant(totals.size === 0, "every denom held has a supply", { denoms: [...totals.keys()] });
}

/** The real chain also keeps who holds a denom, and charges for writing that down. */
const holderIndexGas = 3_000n;

const blocked = new Set<string>(moduleAccounts.map(({ name }) => moduleAddress(name)));

/** A module's money is kept in books of its own; coins that an account sends there would be lost. */
export function mayReceive(address: string): boolean {
  return !blocked.has(address);
}

function spend(context: Context, from: string, { denom, amount }: Coin): void {
  invariant(amount >= 0n, "a transfer is not negative", { from, denom, amount });
  const balance = balanceOf(context, from, denom);
  if (balance < amount) {
    throw sdkError("insufficientFunds", `spendable balance ${balance}${denom} is smaller than ${amount}${denom}`);
  }
  setBalance(context, from, denom, balance - amount);
}

function setBalance(context: Context, address: string, denom: string, amount: bigint): void {
  invariant(amount >= 0n, "a balance is never negative", { address, denom, amount });
  context.useGas(holderIndexGas, "WriteFlat");
  if (amount === 0n) balanceTable(context).delete(`${address}/${denom}`);
  else balanceTable(context).set(`${address}/${denom}`, { denom, amount });
}
