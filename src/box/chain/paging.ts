/** Lists in pages, cut as the SDK cuts them, down to what it counts and which key it hands out next. */
import type { PageRequest, PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { PageResponse as PageResponseCodec } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { sdkRefusal } from "./refusals.ts";
import type { Table } from "./store.ts";

export interface Page<T> {
  readonly items: T[];
  readonly pagination: PageResponse;
}

export interface PageOptions<T> {
  /** Only keys that begin with it; the keys that travel to the client are what follows it. */
  readonly prefix?: string;
  /** What does not belong into the list at all: neither shown nor counted. */
  readonly where?: (value: T, key: string) => boolean;
}

/** What a request without a limit gets; such a request is also told the total. */
const defaultLimit = 100;

export function paginate<T>(
  table: Pick<Table<T>, "entries">,
  request: PageRequest | undefined,
  { prefix = "", where = () => true }: PageOptions<T> = {},
): Page<T> {
  const key = Buffer.from(request?.key ?? []).toString();
  const offset = count(request?.offset);
  const limit = count(request?.limit) || defaultLimit;
  const countTotal = request?.countTotal === true || count(request?.limit) === 0;
  if (offset > 0 && key !== "") {
    throw sdkRefusal("invalidRequest", "invalid request, either offset or key is expected, got both");
  }
  const entries = request?.reverse ? downward(table, prefix, key) : table.entries(prefix, prefix + key);
  const page = key === "" ? byOffset(entries, where, offset, limit, countTotal) : byKey(entries, where, limit);
  const nextKey = Buffer.from(page.nextKey?.slice(prefix.length) ?? "");
  return { items: page.items, pagination: PageResponseCodec.fromPartial({ nextKey, total: page.total }) };
}

interface Cut<T> {
  items: T[];
  nextKey: string | undefined;
  total: number;
}

function byOffset<T>(
  entries: Iterable<[string, T]>,
  where: (value: T, key: string) => boolean,
  offset: number,
  limit: number,
  countTotal: boolean,
): Cut<T> {
  const items: T[] = [];
  let nextKey: string | undefined;
  let hits = 0;
  for (const [key, value] of entries) {
    if (!where(value, key)) continue;
    hits += 1;
    if (hits > offset && hits <= offset + limit) items.push(value);
    if (hits !== offset + limit + 1) continue;
    nextKey = key;
    if (!countTotal) break;
  }
  return { items, nextKey, total: countTotal ? hits : 0 };
}

/** The page after a known key counts nothing, and its next key may lead to an empty page. */
function byKey<T>(entries: Iterable<[string, T]>, where: (value: T, key: string) => boolean, limit: number): Cut<T> {
  const items: T[] = [];
  for (const [key, value] of entries) {
    if (items.length === limit) return { items, nextKey: key, total: 0 };
    if (where(value, key)) items.push(value);
  }
  return { items, nextKey: undefined, total: 0 };
}

function downward<T>(table: Pick<Table<T>, "entries">, prefix: string, key: string): [string, T][] {
  const all = [...table.entries(prefix)];
  return all.filter(([each]) => key === "" || each <= prefix + key).reverse();
}

/** Beyond 2⁵³ a list has no entries anyway. */
function count(value: { toNumber(): number } | undefined): number {
  return value?.toNumber() ?? 0;
}
