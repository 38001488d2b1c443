/** Runs of addresses as pools are made of: "172.30.0.0/24", or from one to another, "172.30.0.200-172.30.0.203". */
import { isIP } from "node:net";
import { type IpRange, rangeText, readRange } from "./ip-range.ts";
import { malformed } from "./refusal.ts";

export interface AddressRange {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

const bitsOf = { 4: 32, 6: 128 } as const;

export function readAddressRange(text: string): AddressRange {
  const [from = "", to, ...more] = text.split("-");
  if (to === undefined) return wholeOf(readRange(text.trim()));
  const [first, last] = [readIpAddress(from), readIpAddress(to)];
  const refuse = (reason: string) =>
    malformed(text, "a range of addresses", reason, "203.0.113.0/28 or 203.0.113.5-203.0.113.9");
  if (!first || !last || more.length > 0) throw refuse("it goes from no address to another");
  if (first.family !== last.family || first.value > last.value) throw refuse("its end lies before its beginning");
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
