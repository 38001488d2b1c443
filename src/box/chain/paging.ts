/** Lists in pages, cut as the SDK cuts them, down to what it counts and which key it hands out next. */
import { type PageRequest, PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { ListedPage } from "./akash-paging.ts";
import { sdkError } from "./errors.ts";
import type { Table } from "./store.ts";

interface PageOptions<T> {
  /** Only keys that begin with it; the keys that travel to the client are what follows it. */
  readonly prefix?: string;
  /** What does not belong into the list at all: neither shown nor counted. */
  readonly where?: (value: T, key: string) => boolean;
}

/** Page size of a request without a limit; its response also has the total. */
const defaultLimit = 100;

export function paginate<T>(
  table: Pick<Table<T>, "entries">,
  request: PageRequest | undefined,
  { prefix = "", where = () => true }: PageOptions<T> = {},
): ListedPage<T> {
  const key = Buffer.from(request?.key ?? []).toString();
  const offset = count(request?.offset);
  const limit = count(request?.limit) || defaultLimit;
  const countTotal = request?.countTotal === true || count(request?.limit) === 0;
  if (offset > 0 && key !== "") {
    throw sdkError("invalidRequest", "invalid request, either offset or key is expected, got both");
  }
  const entries = request?.reverse ? downward(table, prefix, key) : table.entries(prefix, prefix + key);
  const items: T[] = [];
  let nextKey: string | undefined;
  let hits = 0;
  for (const [at, value] of entries) {
    // The page after a known key counts nothing, and its next key may lead to an empty page.
    if (key !== "" && items.length === limit) {
      nextKey = at;
      break;
    }
    if (!where(value, at)) continue;
    hits += 1;
    if (hits > offset && items.length < limit) items.push(value);
    if (hits !== offset + limit + 1) continue;
    nextKey = at;
    if (!countTotal) break;
  }
  const total = countTotal && key === "" ? hits : 0;
  const rest = Buffer.from(nextKey?.slice(prefix.length) ?? "");
  return { items, pagination: PageResponse.fromPartial({ nextKey: rest, total }) };
}

function downward<T>(table: Pick<Table<T>, "entries">, prefix: string, key: string): [string, T][] {
  const all = [...table.entries(prefix)];
  return all.filter(([each]) => key === "" || each <= prefix + key).reverse();
}

/** Beyond 2⁵³ a list has no entries anyway. */
function count(value: { toNumber(): number } | undefined): number {
  return value?.toNumber() ?? 0;
}
