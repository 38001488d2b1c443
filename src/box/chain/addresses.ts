/** Addresses in what strangers send: a wrong one is an answer to them, not a fault of ours. */
import { type Address, parseAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";

export function readAddress(text: string | undefined): Address | undefined {
  try {
    return parseAddress(text ?? "");
  } catch (error) {
    if (ProviderError.is(error, "AKP_VALUE_MALFORMED")) return undefined;
    throw error;
  }
}

export function isAddress(text: string): boolean {
  return readAddress(text) !== undefined;
}
