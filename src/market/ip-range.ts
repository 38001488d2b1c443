/** Ranges of IP addresses, "10.0.0.0/8" or "fc00::/7"; one address alone is a range too. */
import { isIP } from "node:net";
import { malformed } from "./value-errors.ts";

export interface IpRange {
  readonly family: 4 | 6;
  /** The first address of it. */
  readonly first: bigint;
  /** How many leading bits all of them share. */
  readonly prefix: number;
}

const bitsOf = { 4: 32, 6: 128 } as const;

export function readRange(text: string): IpRange {
  const [address = "", length, ...more] = text.split("/");
  const family = isIP(address) as 0 | 4 | 6;
  const invalid = (reason: string) => malformed(text, "a range of addresses", reason, "10.0.0.0/8 or fd00::/8");
  if (family === 0 || more.length > 0 || address.includes("%")) throw invalid("it begins with no address");
  const bits = bitsOf[family];
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (prefix < 0 || prefix > bits) throw invalid(`what stands after the slash must be 0 to ${bits}`);
  const hostBits = BigInt(bits - prefix);
  const value = family === 4 ? readIpv4(address) : readIpv6(address);
  return { family, first: (value >> hostBits) << hostBits, prefix };
}

export function rangeText({ family, first, prefix }: IpRange): string {
  return `${family === 4 ? ipv4Text(first) : ipv6Text(first)}/${prefix}`;
}

export function covers(outer: IpRange, inner: IpRange): boolean {
  if (outer.family !== inner.family || outer.prefix > inner.prefix) return false;
  const hostBits = BigInt(bitsOf[outer.family] - outer.prefix);
  return outer.first >> hostBits === inner.first >> hostBits;
}

/** Sorted, each once, and without those that one of the others or of `known` covers. */
export function smallestList(ranges: readonly IpRange[], known: readonly IpRange[] = []): IpRange[] {
  const kept: IpRange[] = [];
  for (const range of ranges.toSorted(compareRanges)) {
    // A wider one that begins no later stands before it.
    const last = kept.at(-1);
    if (known.some((each) => covers(each, range)) || (last && covers(last, range))) continue;
    kept.push(range);
  }
  return kept;
}

/** Not more than so many (two at least, one of each family), which cover all of these and, where they must, more: the narrowest are widened until they meet. */
export function coarserList(ranges: readonly IpRange[], most: number): IpRange[] {
  let list = smallestList(ranges);
  // Two of one family always meet in the end; one of each never would.
  while (list.length > Math.max(most, 2)) {
    const narrowest = Math.max(...list.map(({ family, prefix }) => prefix - bitsOf[family]));
    list = smallestList(
      list.map((range) => (range.prefix - bitsOf[range.family] < narrowest ? range : widened(range))),
    );
  }
  return list;
}

function widened({ family, first, prefix }: IpRange): IpRange {
  const hostBits = BigInt(bitsOf[family] - prefix + 1);
  return { family, first: (first >> hostBits) << hostBits, prefix: prefix - 1 };
}

export function compareRanges(a: IpRange, b: IpRange): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return a.prefix - b.prefix;
}

function readIpv4(text: string): bigint {
  return text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function ipv4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
}

function readIpv6(text: string): bigint {
  // The last two groups may be written as an address of the old kind.
  const [, head = text, tail] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text) ?? [];
  const old = tail === undefined ? undefined : readIpv4(tail);
  const hex = old === undefined ? text : `${head}${(old >> 16n).toString(16)}:${(old & 0xffffn).toString(16)}`;
  const [left = [], right] = hex.split("::").map((half) => (half === "" ? [] : half.split(":")));
  const zeros = right ? Array<string>(8 - left.length - right.length).fill("0") : [];
  return [...left, ...zeros, ...(right ?? [])].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** The one form that the API server does not warn of; URLs have the same. */
function ipv6Text(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, n) => ((value >> BigInt(112 - 16 * n)) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

/** Runs of addresses as pools are made of: "172.30.0.0/24", or from one to another, "172.30.0.200-172.30.0.203". */
export interface AddressRange {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export function readAddressRange(text: string): AddressRange {
  const [from = "", to, ...more] = text.split("-");
  if (to === undefined) return wholeOf(readRange(text.trim()));
  const [first, last] = [readIpAddress(from), readIpAddress(to)];
  const invalid = (reason: string) =>
    malformed(text, "a range of addresses", reason, "203.0.113.0/28 or 203.0.113.5-203.0.113.9");
  if (!first || !last || more.length > 0) throw invalid("it goes from no address to another");
  if (first.family !== last.family || first.value > last.value) throw invalid("its end lies before its beginning");
  return { family: first.family, first: first.value, last: last.value };
}

function wholeOf({ family, first, prefix }: IpRange): AddressRange {
  return { family, first, last: first + (1n << BigInt(bitsOf[family] - prefix)) - 1n };
}

/** Undefined where it is none. */
export function readIpAddress(text: string): IpAddress | undefined {
  const trimmed = text.trim();
  if (isIP(trimmed) === 0 || trimmed.includes("%")) return undefined;
  const { family, first } = readRange(trimmed);
  return { family, value: first };
}

export function ipAddressText({ family, value }: IpAddress): string {
  return rangeText({ family, first: value, prefix: bitsOf[family] }).replace(/\/\d+$/, "");
}

export function addressRangeText({ family, first, last }: AddressRange): string {
  const [from, to] = [first, last].map((value) => ipAddressText({ family, value }));
  return from === to ? `${from}` : `${from}-${to}`;
}

export function isWithin({ family, value }: IpAddress, range: AddressRange): boolean {
  return range.family === family && range.first <= value && value <= range.last;
}

export function doOverlap(a: AddressRange, b: AddressRange): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/** How many addresses there are in all of them, each once. */
export function countAddresses(ranges: readonly AddressRange[]): bigint {
  return mergedRanges(ranges).reduce((sum, { first, last }) => sum + last - first + 1n, 0n);
}

/** Sorted, and none that overlaps another. */
export function mergedRanges(ranges: readonly AddressRange[]): AddressRange[] {
  const merged: AddressRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.family - b.family || (a.first < b.first ? -1 : 1))) {
    const before = merged.at(-1);
    if (!before || !doOverlap(before, range)) merged.push(range);
    else if (range.last > before.last) merged[merged.length - 1] = { ...before, last: range.last };
  }
  return merged;
}
