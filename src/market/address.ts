/** Akash account addresses. What has the type Address has had its checksum looked at. */
import { bytesToWords, decodeBech32, encodeBech32, wordsToBytes } from "./bech32.ts";
import { malformed } from "./refusal.ts";

declare const checked: unique symbol;

/** In lower case, so that equal accounts are equal strings. */
export type Address = string & { readonly [checked]: true };

const prefix = "akash";
/** Keys make addresses of 20 bytes; modules and groups of the chain make some of 32. */
const byteLengths = [20, 32];
const example = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";

export function parseAddress(text: string): Address {
  const fault = faultOf(text);
  if (fault !== undefined) throw refuse(text, fault);
  return text.toLowerCase() as Address;
}

/** Undefined where it is none. */
export function findAddress(text: string): Address | undefined {
  return faultOf(text) === undefined ? (text.toLowerCase() as Address) : undefined;
}

function faultOf(text: string): string | undefined {
  const decoded = decodeBech32(text);
  if ("fault" in decoded) return decoded.fault;
  if (decoded.prefix !== prefix) return `it starts with "${decoded.prefix}1", not "${prefix}1"`;
  const bytes = wordsToBytes(decoded.words);
  if (!bytes) return "its last character holds bits that belong to no byte";
  if (byteLengths.includes(bytes.length)) return undefined;
  return `it holds ${bytes.length} bytes, and an account has ${byteLengths.join(" or ")}`;
}

export function addressOf(bytes: Uint8Array): Address {
  return parseAddress(encodeBech32(prefix, bytesToWords(bytes)));
}

export function addressBytes(address: Address): Uint8Array {
  const decoded = decodeBech32(address);
  const bytes = "words" in decoded ? wordsToBytes(decoded.words) : undefined;
  if (!bytes) throw refuse(address, "it was not made by parseAddress");
  return bytes;
}

function refuse(text: string, reason: string) {
  return malformed(text, "an akash address", reason, example);
}
