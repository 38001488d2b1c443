/** Prices between the wire, where the codecs make decimal texts of them, and the application. */
import type { DecCoin as WireDecCoin } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { DecCoin } from "../../market/coin.ts";
import { parseDecimal, showDecimal } from "../../market/decimal.ts";

const denomPattern = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/;

export function isDenom(text: string): boolean {
  return denomPattern.test(text);
}

/** As it stands; isValidPrice says whether it makes sense. */
export function readPrice(wire: WireDecCoin | undefined): DecCoin {
  return { denom: wire?.denom ?? "", amount: parseDecimal(wire?.amount || "0") };
}

export function isValidPrice({ denom, amount }: DecCoin): boolean {
  return isDenom(denom) && amount.atto >= 0n;
}

export function writePrice({ denom, amount }: DecCoin): WireDecCoin {
  return { denom, amount: showDecimal(amount) };
}
