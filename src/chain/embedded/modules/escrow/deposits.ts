/** Money that goes into an escrow account: who must give how much, and what a deposit looks like on the wire. */
import type { Deposit as WireDeposit } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Coin } from "../../../../market/coin.ts";
import { Panic, uncoded } from "../../codespace.ts";
import type { Context } from "../../module.ts";
import { isDenom } from "../../prices.ts";
import { balanceOf, sendToModule } from "../bank/balances.ts";
import { type Account, type Deposit, depositSources } from "./records.ts";
import { depositRefusal } from "./refusals.ts";
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
  if (sources.length === 0) throw depositRefusal("invalidDepositSource", "empty deposit sources");
  const known: readonly number[] = Object.values(depositSources);
  for (const [index, source] of sources.entries()) {
    if (!known.includes(source)) throw depositRefusal("invalidDepositSource", `empty deposit source type ${source}`);
    if (sources.indexOf(source) === index) continue;
    throw depositRefusal("invalidDepositSource", `duplicate deposit source type ${source}`);
  }
}

/**
 * Who gives the money. Nobody can grant money to others on this chain, since it has no authz module: a grant gives
 * nothing, and what is missing then is refused as on a chain where nothing was granted.
 */
export function authorizeDeposit(context: Context, giver: string, wanted: WantedDeposit): Deposit[] {
  const { denom, amount, sources } = wanted;
  if (amount < 0n || amount > mostDeposit) throw new Panic(`${amount} is not a deposit`);
  const given = sources.includes(depositSources.balance) ? least(balanceOf(context, giver, denom), amount) : 0n;
  if (given < amount) throw uncoded("deposit invalid: insufficient balance");
  if (given === 0n) return [];
  return [{ owner: giver, height: context.height, source: "balance", balance: { denom, amount: given } }];
}

/** Takes the money and enters it. New money does not pay old debt by itself: that is for the next settlement. */
export function takeDeposits(context: Context, account: Account, deposits: readonly Deposit[]): Account {
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

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
