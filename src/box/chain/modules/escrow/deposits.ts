/** Money that goes into an escrow account: who must give how much, and what a deposit looks like on the wire. */
import type { Deposit as WireDeposit } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { type Coin, sumCoins } from "../../../../market/coin.ts";
import { smallest } from "../../../../runtime/bigint.ts";
import { isDenom } from "../../coins.ts";
import { Panic, uncoded } from "../../errors.ts";
import type { Context } from "../../module.ts";
import { depositMessageUrl, spend } from "../authz/authorizations.ts";
import { findGrant, grantsTo, saveGrant } from "../authz/grants.ts";
import { balanceOf, sendToModule } from "../bank/balances.ts";
import { depositError } from "./errors.ts";
import type { AccountScope } from "./ids.ts";
import { type Deposit, depositSources, type EscrowAccount } from "./records.ts";
import { changed } from "./settlement.ts";

/** The chain's program reads a deposit as a number of 64 bits. */
const mostDeposit = 2n ** 63n - 1n;

export interface WantedDeposit extends Coin {
  readonly sources: readonly number[];
}

/** The deposit of a message that begins a deployment or a bid. */
export function readDeposit(wire: WireDeposit | undefined): WantedDeposit {
  const denom = wire?.amount?.denom ?? "";
  if (!isDenom(denom)) throw uncoded(`invalid denom: ${denom}`);
  const { amount } = readAmount(wire);
  if (amount < 0n) throw uncoded(`negative coin amount: ${amount}`);
  const sources = wire?.sources ?? [];
  validateSources(sources);
  return { denom, amount, sources };
}

export function readAmount(wire: WireDeposit | undefined): Coin {
  const { denom = "", amount = "" } = wire?.amount ?? {};
  if (!/^-?\d+$/.test(amount)) throw uncoded("amount is nil");
  return { denom, amount: BigInt(amount) };
}

export function validateSources(sources: readonly number[]): void {
  if (sources.length === 0) throw depositError("invalidDepositSource", "empty deposit sources");
  const known: readonly number[] = Object.values(depositSources);
  for (const [index, source] of sources.entries()) {
    if (!known.includes(source)) throw depositError("invalidDepositSource", `empty deposit source type ${source}`);
    if (sources.indexOf(source) === index) continue;
    throw depositError("invalidDepositSource", `duplicate deposit source type ${source}`);
  }
}

/** Who gives the money, from one source after the other until there is enough. What is granted is spent by this. */
export function authorizeDeposit(
  context: Context,
  giver: string,
  scope: AccountScope,
  wanted: WantedDeposit,
): Deposit[] {
  const { denom, amount, sources } = wanted;
  if (amount < 0n || amount > mostDeposit) throw new Panic(`${amount} is not a deposit`);
  const deposits: Deposit[] = [];
  let missing = amount;
  for (const source of sources) {
    const coin = { denom, amount: missing };
    const given =
      source === depositSources.balance ? fromBalance(context, giver, coin) : fromGrants(context, giver, scope, coin);
    deposits.push(...given);
    for (const { balance } of given) missing -= balance.amount;
  }
  if (missing > 0n) throw uncoded("deposit invalid: insufficient balance");
  return deposits;
}

function fromBalance(context: Context, owner: string, { denom, amount }: Coin): Deposit[] {
  const given = smallest(balanceOf(context, owner, denom), amount);
  return given === 0n ? [] : [{ owner, height: context.height, source: "balance", balance: { denom, amount: given } }];
}

/** The granters' balances are not checked here; a deposit without cover fails when it is taken. */
function fromGrants(context: Context, grantee: string, scope: AccountScope, { denom, amount }: Coin): Deposit[] {
  const deposits: Deposit[] = [];
  let missing = amount;
  for (const grant of grantsTo(context, grantee, depositMessageUrl)) {
    const { authorization, granter } = grant;
    if (authorization.kind !== "deposit" || !authorization.scopes.includes(scope)) continue;
    const { spent, left } = spend(authorization, { denom, amount: missing });
    if (spent === 0n) continue;
    // One that is used up stays: what comes back at the end of the account is added to it again.
    saveGrant(context, { ...grant, authorization: left });
    deposits.push({ owner: granter, height: context.height, source: "grant", balance: { denom, amount: spent } });
    missing -= spent;
  }
  return deposits;
}

/** What was granted and not spent may be spent again by the owner of the account, if there is still such a grant. */
export function renewGrant(context: Context, accountOwner: string, { owner: granter, balance }: Deposit): void {
  const grant = findGrant(context, granter, accountOwner, depositMessageUrl);
  if (grant?.authorization.kind !== "deposit") return;
  const limits = sumCoins([...grant.authorization.limits, balance]);
  saveGrant(context, { ...grant, authorization: { ...grant.authorization, limits } });
}

/** Takes the money and enters it. New money does not pay old debt by itself: that is for the next settlement. */
export function takeDeposits(context: Context, account: EscrowAccount, deposits: readonly Deposit[]): EscrowAccount {
  let funded = account;
  for (const { owner, balance } of deposits) {
    const { denom, amount } = balance;
    const funds = funded.funds.map((coin) => (coin.denom === denom && coin.amount < 0n ? { denom, amount: 0n } : coin));
    funded = {
      ...funded,
      funds: changed(funds, denom, amount),
      transferred: changed(funded.transferred, denom, 0n),
    };
    sendToModule(context, owner, "escrow", [balance]);
  }
  return { ...funded, deposits: [...funded.deposits, ...deposits] };
}
