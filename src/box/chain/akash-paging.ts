/**
 * Lists in pages as Akash's own modules cut them, state by state. The key of the next page holds the filters too: which
 * states are still to be listed, and along which path. A checksum guards it, since the client gives it back as it likes.
 */
import { crc32 } from "node:zlib";
import { type PageRequest, PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { invalidArgument } from "./errors.ts";

interface PageKey {
  readonly states: Uint8Array;
  readonly prefix: Uint8Array;
  readonly key: Uint8Array;
  /** Empty for lists that have one path only. */
  readonly path?: Uint8Array;
}

/** A stretch of a list that is read in one go. */
export interface Walk<T> {
  readonly entries: Iterable<[key: string, item: T]>;
  /** Says which of them belong to the list; without it all do. */
  isWanted?(item: T): boolean;
  /** For a page that begins with this entry. */
  keyAt(key: string): PageKey;
}

export interface ListedPage<T> {
  readonly items: T[];
  readonly pagination: PageResponse;
}

const defaultLimit = 100;
const checksumBytes = 4;
const none = new Uint8Array();

/** Akash's modules report the length of the page as the total. */
export function firstPage<T>(
  walks: Iterable<Walk<T>>,
  { limit, offset }: Partial<Pick<PageRequest, "limit" | "offset">> = {},
): ListedPage<T> {
  const most = limit?.toNumber() || defaultLimit;
  let skip = offset?.toNumber() ?? 0;
  const items: T[] = [];
  for (const { entries, isWanted, keyAt } of walks) {
    for (const [key, item] of entries) {
      if (isWanted && !isWanted(item)) continue;
      if (skip > 0) skip -= 1;
      else if (items.length < most) items.push(item);
      else {
        const nextKey = encodePageKey(keyAt(key));
        return { items, pagination: PageResponse.fromPartial({ total: items.length, nextKey }) };
      }
    }
  }
  return { items, pagination: PageResponse.fromPartial({ total: items.length }) };
}

/** The enum values of the states to list; an empty name selects all states. */
export function stateValues(states: Readonly<Record<string, number>>, name: string): number[] {
  const selected = Object.entries(states).filter(([state]) => name === "" || state === name);
  if (selected.length === 0) throw invalidArgument("invalid state value");
  return selected.map(([, number]) => number);
}

export function checkOffset(request: PageRequest | undefined, state: string): void {
  if (!request || request.offset.isZero() || state !== "") return;
  throw invalidArgument("invalid request parameters. if offset is set, filter.state must be provided");
}

export function encodePageKey({ states, prefix, key, path = none }: PageKey): Uint8Array {
  const parts = path.length > 0 ? [states, prefix, key, path] : [states, prefix, key];
  const data = Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), part]));
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32BE(crc32(data));
  return Buffer.concat([checksum, data]);
}

export function decodePageKey(bytes: Uint8Array): Required<PageKey> {
  const all = Buffer.from(bytes);
  if (all.length <= checksumBytes) throw malformed("invalid key length");
  let rest = all.subarray(checksumBytes);
  if (all.readUInt32BE() !== crc32(rest)) throw malformed("invalid checksum");
  const take = () => {
    const length = rest[0] ?? 0;
    if (rest.length < 1 + length) throw malformed("invalid state length");
    const part = rest.subarray(1, 1 + length);
    rest = rest.subarray(1 + length);
    return part;
  };
  const [states, prefix, key] = [take(), take(), take()];
  return { states, prefix, key, path: rest.length > 0 ? take() : none };
}

function malformed(reason: string) {
  return invalidArgument(`pagination: invalid key: ${reason}`);
}
