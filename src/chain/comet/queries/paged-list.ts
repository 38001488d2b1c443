/**
 * Whole lists, page by page. All pages come from one node and, where it still keeps that state, of one height, so that
 * nothing slips from one page to the other while we read. Where it does not, the list may have shifted since its first
 * page: its height is that of the first page, and whoever follows the blocks after that height puts it right.
 */
import {
  type PageRequest,
  PageRequest as PageRequestCodec,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { ProviderError } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Listed, QueryOptions } from "../../chain.ts";
import type { Pool } from "../pool.ts";
import { ask, isStateGone, type Query } from "./abci-query.ts";

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextKey: Uint8Array;
}

export interface Paged<Filter> {
  readonly filter: Filter;
  readonly pagination: PageRequest;
}

export type ListQuery<Filter, T> = Query<Paged<Filter>, Page<T>>;

export async function list<Filter, T>(
  pool: Pool,
  query: ListQuery<Filter, T>,
  filter: Filter,
  options: QueryOptions = {},
): Promise<Listed<T>> {
  // A node that fails half-way takes its page keys with it: another one begins anew.
  for (let left = pool.members.length; ; left -= 1) {
    try {
      return await listFromOne(pool, query, filter, options);
    } catch (thrown) {
      const failed = thrown instanceof ProviderError && thrown.code === "AKP_CHAIN_NO_ENDPOINT";
      if (!failed || left <= 1 || options.endpoint !== undefined) throw thrown;
    }
  }
}

async function listFromOne<Filter, T>(
  pool: Pool,
  query: ListQuery<Filter, T>,
  filter: Filter,
  options: QueryOptions,
): Promise<Listed<T>> {
  const first = await page(pool, query, filter, new Uint8Array(), options);
  const { height, endpoint } = first;
  const items = [...first.value.items];
  let { nextKey } = first.value;
  let steady = true;
  for (let pages = 1; nextKey.length > 0; pages += 1) {
    if (pages >= limits.rpcPages) throw endless(query.path, endpoint, `${pages} pages were read`);
    const here = { ...options, endpoint };
    let next: { readonly value: Page<T> };
    try {
      next = await page(pool, query, filter, nextKey, steady ? { ...here, height } : here);
    } catch (thrown) {
      if (!steady || !isStateGone(thrown)) throw thrown;
      steady = false;
      next = await page(pool, query, filter, nextKey, here);
    }
    if (Buffer.compare(next.value.nextKey, nextKey) === 0)
      throw endless(query.path, endpoint, "a page leads to itself");
    items.push(...next.value.items);
    nextKey = next.value.nextKey;
  }
  return { items, height, steady, endpoint };
}

async function page<Filter, T>(
  pool: Pool,
  query: ListQuery<Filter, T>,
  filter: Filter,
  key: Uint8Array,
  options: QueryOptions,
) {
  const { pageEntries: limit = limits.rpcPageEntries } = options;
  const pagination = PageRequestCodec.fromPartial({ key, limit });
  const { value = noPage, ...rest } = await ask(pool, query, { filter, pagination }, options);
  return { value, ...rest };
}

/** Where nothing is found, some lists say that instead of being empty. */
const noPage: Page<never> = { items: [], nextKey: new Uint8Array() };

function endless(path: string, endpoint: string, reason: string): ProviderError {
  return new ProviderError("AKP_CHAIN_LIST_ENDLESS", { path, endpoint, reason });
}
