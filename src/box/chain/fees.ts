/** What a transaction pays, who pays it, and what a node asks for at least. */
import { type Coin, formatCoins } from "../../market/coin.ts";
import { decimalOf, mulDecimals, parseDecimal, toInteger } from "../../market/decimal.ts";
import { areValidCoins } from "./coins.ts";
import { plainEvent } from "./events.ts";
import { ChainRefusal, type Context } from "./module.ts";
import { findAccount } from "./modules/auth/accounts.ts";
import { sendToModule } from "./modules/bank/balances.ts";
import { useAllowance } from "./modules/feegrant/feegrant.ts";
import { sdkRefusal } from "./refusals.ts";
import type { Fee } from "./transaction.ts";

/** What the network's nodes ask for a unit of gas. */
const gasPrice = parseDecimal("0.0025");

export function paysTheMinimum({ coins, gasLimit }: Fee): void {
  const required = { denom: "uakt", amount: toInteger(mulDecimals(gasPrice, decimalOf(gasLimit)), "up") };
  if (coins.some(({ denom, amount }) => denom === required.denom && amount >= required.amount)) return;
  const words = `insufficient fees; got: ${formatCoins(coins)} required: ${formatCoins([required])}`;
  throw sdkRefusal("insufficientFee", words);
}

/** From the granter, if the fee names one that allows it, else from the payer. */
export function deductFee(context: Context, { coins, granter }: Fee, payer: string): void {
  if (granter && granter !== payer) useAllowance(context, granter, payer, coins);
  const from = granter || payer;
  if (!findAccount(context, from)) throw sdkRefusal("unknownAddress", `fee payer address: ${from} does not exist`);
  // "0uakt" is no valid amount, but it is no fee either: clients estimate gas with it.
  if (coins.some(({ amount }) => amount !== 0n)) collect(context, from, coins);
  context.emit(plainEvent("tx", { fee: formatCoins(coins), fee_payer: from }));
}

function collect(context: Context, from: string, coins: readonly Coin[]): void {
  if (!areValidCoins(coins)) throw sdkRefusal("insufficientFee", `invalid fee amount: ${formatCoins(coins)}`);
  try {
    sendToModule(context, from, "fee_collector", coins);
  } catch (error) {
    // The SDK wraps the bank's refusal once more, so clients see the words twice.
    if (error instanceof ChainRefusal && error.code === sdkRefusal("insufficientFunds").code) {
      throw sdkRefusal("insufficientFunds", error.message);
    }
    throw error;
  }
}
