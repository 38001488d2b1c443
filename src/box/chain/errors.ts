/** Errors with the codes and texts that clients match on: registration for modules, and those of the SDK itself. */
import { type Address, findAddress, parseAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { ChainError } from "./module.ts";

/** Registers errors of a codespace; the chain puts the detail in front of the registered text. */
export function codespace<Name extends string>(
  name: string,
  errors: Readonly<Record<Name, readonly [code: number, text: string]>>,
): (error: Name, detail?: string) => ChainError {
  return (error, detail) => {
    const [code, text] = errors[error];
    return new ChainError(name, code, detail === undefined ? text : `${detail}: ${text}`);
  };
}

export const sdkError = codespace("sdk", {
  txDecode: [2, "tx parse error"],
  invalidSequence: [3, "invalid sequence"],
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
  invalidHeight: [26, "invalid height"],
  invalidType: [29, "invalid type"],
  txTimeoutHeight: [30, "tx timeout height"],
  wrongSequence: [32, "incorrect account sequence"],
  conflict: [36, "conflict"],
  notSupported: [37, "feature not supported"],
  notFound: [38, "not found"],
  txTimeout: [42, "tx timeout"],
});

/** An error that the chain gives no code of its own, or whose code is lost because of how it was wrapped. */
export function uncoded(text: string): ChainError {
  return new ChainError("undefined", 1, text);
}

/**
 * Where the chain's own program runs into a wall: the transaction fails, the node goes on. The chain does not know which
 * message it was, but prints the stack; ours is the same on every machine, for results are part of the app's hash.
 */
export class Panic extends ChainError {
  constructor(text: string) {
    super("undefined", 111222, `recovered: ${text}\nstack:\ngoroutine 1 [running]:\n: panic`);
  }
}

/** How a query that found nothing answers over ABCI: the gRPC status is kept in the words. */
export function notFound(text: string): ChainError {
  return sdkError("keyNotFound", `rpc error: code = NotFound desc = ${text}`);
}

export function invalidArgument(text: string): ChainError {
  return sdkError("invalidRequest", `rpc error: code = InvalidArgument desc = ${text}`);
}

/** The address that a query names. */
export function queriedAddress(text: string): Address {
  return checkedAddress(text, (reason) => invalidArgument(`invalid address: ${reason}`));
}

/** Parses an address of a message or query; a malformed one throws what `toError` returns. */
export function checkedAddress(text: string, toError: (reason: string) => ChainError): Address {
  try {
    return parseAddress(text);
  } catch (error) {
    if (ProviderError.is(error, "AKP_VALUE_MALFORMED")) throw toError(error.message);
    throw error;
  }
}

export function isAddress(text: string): boolean {
  return findAddress(text) !== undefined;
}
