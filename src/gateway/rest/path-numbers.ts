/** Numbers in paths, read as the network reads them and refused in its words. */
import { goQuote } from "../../market/go-json.ts";

/** A number of a path that is none, in Go's words. */
export class NotANumber extends Error {
  override readonly name = "NotANumber";
}

/** No chain has more digits; reading a million of them would take long. */
const mostDigits = 20;

export function parseDseq(text: string): bigint {
  return parseUint(text, 2n ** 64n - 1n);
}

export function parseSeq(text: string): number {
  return Number(parseUint(text, 2n ** 32n - 1n));
}

function parseUint(text: string, most: bigint): bigint {
  if (!/^[0-9]+$/.test(text)) throw new NotANumber(refusal(text, "invalid syntax"));
  const digits = text.replace(/^0+(?=.)/, "");
  const value = digits.length > mostDigits ? most + 1n : BigInt(digits);
  if (value > most) throw new NotANumber(refusal(text, "value out of range"));
  return value;
}

function refusal(text: string, reason: string): string {
  return `strconv.ParseUint: parsing ${goQuote(text)}: ${reason}`;
}
