/** Akash account addresses. What has the type Address has had its checksum looked at. */
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

/** Bech32 (BIP-173): a prefix, five bits per character, and a checksum that catches typing mistakes. */
type Bech32 = { readonly prefix: string; readonly words: readonly number[] } | { readonly fault: string };

const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const wordOf = new Map([...alphabet].map((character, word) => [character, word]));
/** The generator of the code, one entry for each of the five bits that leave the register; and all their sums. */
const generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const feedback = Array.from({ length: 32 }, (_, leaving) =>
  generator.reduce((sum, term, bit) => ((leaving >>> bit) & 1 ? sum ^ term : sum), 0),
);
const checksumWords = 6;
/** BIP-173's limit: up to here the checksum finds any four wrong characters. */
const longestText = 90;

export function encodeBech32(prefix: string, words: readonly number[]): string {
  const register = checksum(prefix, [...words, ...new Array<number>(checksumWords).fill(0)]) ^ 1;
  const check = Array.from({ length: checksumWords }, (_, index) => (register >>> (5 * (5 - index))) & 31);
  return `${prefix}1${[...words, ...check].map((word) => alphabet[word]).join("")}`;
}

/** What a text says, or what is wrong with it. Upper case means the same as lower case; a mixture means nothing. */
export function decodeBech32(text: string): Bech32 {
  if (text.length > longestText)
    return { fault: `it has ${text.length} characters, at most ${longestText} are allowed` };
  if (/[^!-~]/.test(text)) return { fault: "it has a space or a character that is not ASCII" };
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return { fault: "it mixes upper and lower case" };
  const separator = lower.lastIndexOf("1");
  if (separator < 1) return { fault: 'it has no prefix that ends with "1"' };
  const prefix = lower.slice(0, separator);
  const words: number[] = [];
  for (const character of lower.slice(separator + 1)) {
    const word = wordOf.get(character);
    if (word === undefined) return { fault: `the character "${character}" is never used in one` };
    words.push(word);
  }
  if (words.length < checksumWords) return { fault: "it is too short to hold a checksum" };
  if (checksum(prefix, words) !== 1) {
    return { fault: "its checksum does not match, so some character is wrong or missing" };
  }
  return { prefix, words: words.slice(0, -checksumWords) };
}

/** Eight bits per byte as five bits per word, filled up with zeros at the end. */
export function bytesToWords(bytes: Uint8Array): number[] {
  const { groups, rest, restBits } = regroup(bytes, 8, 5);
  return restBits === 0 ? groups : [...groups, rest << (5 - restBits)];
}

/** The other way round; undefined when what is left over is not the filling that bytesToWords adds. */
export function wordsToBytes(words: readonly number[]): Uint8Array | undefined {
  const { groups, rest, restBits } = regroup(words, 5, 8);
  return rest === 0 && restBits < 5 ? Uint8Array.from(groups) : undefined;
}

function regroup(values: Iterable<number>, fromBits: number, toBits: number) {
  const groups: number[] = [];
  let rest = 0;
  let restBits = 0;
  for (const value of values) {
    rest = (rest << fromBits) | value;
    restBits += fromBits;
    while (restBits >= toBits) {
      restBits -= toBits;
      groups.push(rest >>> restBits);
      rest &= (1 << restBits) - 1;
    }
  }
  return { groups, rest, restBits };
}

/** The remainder over the prefix (the high bits of each character, a zero, the low bits) and the words. */
function checksum(prefix: string, words: readonly number[]): number {
  let register = 1;
  const feed = (value: number) => {
    register = ((register & 0x1ffffff) << 5) ^ value ^ (feedback[register >>> 25] ?? 0);
  };
  for (let at = 0; at < prefix.length; at += 1) feed(prefix.charCodeAt(at) >>> 5);
  feed(0);
  for (let at = 0; at < prefix.length; at += 1) feed(prefix.charCodeAt(at) & 31);
  words.forEach(feed);
  return register;
}
