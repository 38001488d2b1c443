/** Akash account addresses. The checksum of what has the type Address is verified. */
import bech32 from "bech32";
import { reasonOf } from "../runtime/errors.ts";
import { malformed } from "./value-errors.ts";

declare const checked: unique symbol;

/** In lower case, so that equal accounts are equal strings. */
export type Address = string & { readonly [checked]: true };

const prefix = "akash";
/** Keys make addresses of 20 bytes; modules and groups of the chain make some of 32. */
const byteLengths = [20, 32];
const example = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";

export function parseAddress(text: string): Address {
  const fault = faultOf(text);
  if (fault !== undefined) throw malformed(text, "an akash address", fault, example);
  return text.toLowerCase() as Address;
}

/** Undefined where it is none. */
export function findAddress(text: string): Address | undefined {
  return faultOf(text) === undefined ? (text.toLowerCase() as Address) : undefined;
}

export function addressOf(bytes: Uint8Array): Address {
  return parseAddress(bech32.encode(prefix, bech32.toWords(bytes)));
}

export function addressBytes(address: Address): Uint8Array {
  return Uint8Array.from(bech32.fromWords(bech32.decode(address).words));
}

function faultOf(text: string): string | undefined {
  // The library repeats the text in its messages, which a terminal may show.
  if (/[^!-~]/.test(text)) return "it has a space or a character that is not ASCII";
  try {
    const { prefix: given, words } = bech32.decode(text);
    if (given !== prefix) return `it starts with "${given}1", not "${prefix}1"`;
    const { length } = bech32.fromWords(words);
    return byteLengths.includes(length)
      ? undefined
      : `it holds ${length} bytes, and an account has ${byteLengths.join(" or ")}`;
  } catch (thrown) {
    return reasonOf(thrown);
  }
}
