/** The refusals that the SDK itself knows, with the codes and words that clients match on. */
import { type Address, parseAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { ChainRefusal } from "./module.ts";

const sdkErrors = {
  txDecode: [2, "tx parse error"],
  unauthorized: [4, "unauthorized"],
  insufficientFunds: [5, "insufficient funds"],
  unknownRequest: [6, "unknown request"],
  invalidAddress: [7, "invalid address"],
  invalidPubKey: [8, "invalid pubkey"],
  unknownAddress: [9, "unknown address"],
  invalidCoins: [10, "invalid coins"],
  outOfGas: [11, "out of gas"],
  memoTooLarge: [12, "memo too large"],
  insufficientFee: [13, "insufficient fee"],
  tooManySignatures: [14, "maximum number of signatures exceeded"],
  noSignatures: [15, "no signatures supplied"],
  invalidRequest: [18, "invalid request"],
  keyNotFound: [22, "key not found"],
  invalidType: [29, "invalid type"],
  txTimeoutHeight: [30, "tx timeout height"],
  wrongSequence: [32, "incorrect account sequence"],
  notSupported: [37, "feature not supported"],
  notFound: [38, "not found"],
  txTimeout: [42, "tx timeout"],
} as const satisfies Record<string, readonly [number, string]>;

export type SdkError = keyof typeof sdkErrors;

/** The SDK writes what went wrong in front of what kind of error it is. */
export function sdkRefusal(error: SdkError, detail?: string): ChainRefusal {
  const [code, text] = sdkErrors[error];
  return new ChainRefusal("sdk", code, detail === undefined ? text : `${detail}: ${text}`);
}

/** How a query that found nothing answers over ABCI: the gRPC status is kept in the words. */
export function notFound(text: string): ChainRefusal {
  return sdkRefusal("keyNotFound", `rpc error: code = NotFound desc = ${text}`);
}

export function invalidArgument(text: string): ChainRefusal {
  return sdkRefusal("invalidRequest", `rpc error: code = InvalidArgument desc = ${text}`);
}

/** The address that a query asks about. */
export function askedAddress(text: string): Address {
  return checkedAddress(text, (reason) => invalidArgument(`invalid address: ${reason}`));
}

/** An address that someone wrote into a message or a query, or the refusal that fits the place. */
export function checkedAddress(text: string, refuse: (reason: string) => ChainRefusal): Address {
  try {
    return parseAddress(text);
  } catch (error) {
    if (error instanceof ProviderError) throw refuse(error.message);
    throw error;
  }
}
