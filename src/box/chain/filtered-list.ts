/**
 * Lists of deployments, orders, bids and leases, cut as Akash cuts them: along the owner's things, along the
 * provider's, or state by state. The path and the states travel in the key of the next page, the other filters do not.
 */
import type { PageRequest, PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { PageResponse as PageResponseCodec } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { keyOfBytes, keyToBytes } from "./market-ids.ts";
import { decodePageKey, encodePageKey } from "./page-key.ts";
import { invalidArgument } from "./refusals.ts";
import type { Table } from "./store.ts";

export interface ListOf<T> {
  readonly table: Table<T>;
  /** By name, in the order in which they are listed. */
  readonly states: Readonly<Record<string, number>>;
  stateOf(item: T): string;
  /** For what belongs to a provider too. */
  providerOf?(item: T): string;
}

export interface Filters {
  readonly state: string;
  readonly owner: string;
  readonly provider?: string;
}

export interface Listed<T> {
  readonly items: T[];
  readonly pagination: PageResponse;
}

type Path = "state" | "provider" | "owner";

interface Start {
  readonly path: Path;
  readonly states: readonly string[];
  /** Whose things are listed, on the paths of owner and provider. */
  readonly whose: string;
  /** The first key of the page; undefined for the beginning. */
  readonly from: string | undefined;
}

const defaultLimit = 100;

/** `accepts` holds all the filters of the request: they apply to every page that repeats them. */
export function filteredList<T>(
  list: ListOf<T>,
  filters: Filters,
  request: PageRequest | undefined,
  accepts: (item: T) => boolean,
): Listed<T> {
  if (request && !request.offset.isZero() && filters.state === "") {
    throw invalidArgument("invalid request parameters. if offset is set, filter.state must be provided");
  }
  const reverse = request?.reverse ?? false;
  const key = request?.key ?? new Uint8Array();
  const start = key.length > 0 ? resume(list, key) : begin(list, filters, reverse);
  const limit = request?.limit.toNumber() || defaultLimit;
  let skip = request?.offset.toNumber() ?? 0;
  const items: T[] = [];
  for (const { states, entries } of walks(list, start, reverse)) {
    for (const [key, item] of entries) {
      if (!accepts(item)) continue;
      if (skip > 0) skip -= 1;
      else if (items.length < limit) items.push(item);
      else return { items, pagination: page(items, nextKey(list, start.path, states, key)) };
    }
  }
  return { items, pagination: page(items) };
}

function begin<T>(list: ListOf<T>, { state, owner, provider = "" }: Filters, reverse: boolean): Start {
  const all = Object.keys(list.states);
  if (state !== "" && !all.includes(state)) throw invalidArgument("invalid state value");
  const states = state === "" ? all : [state];
  if (owner !== "") return { path: "owner", states, whose: owner, from: undefined };
  if (provider !== "") return { path: "provider", states, whose: provider, from: undefined };
  return { path: "state", states: reverse ? states.toReversed() : states, whose: "", from: undefined };
}

function resume<T>(list: ListOf<T>, pageKey: Uint8Array): Start {
  const { states: numbers, key, path: mark } = decodePageKey(pageKey);
  const path = paths.find((path) => Buffer.compare(markOf(list, path), mark) === 0);
  const names = Object.entries(list.states);
  const states = Array.from(numbers, (number) => names.find(([, known]) => known === number)?.[0]);
  if (!path || states.includes(undefined)) throw invalidArgument("invalid pagination key");
  const from = keyOfBytes(key);
  const [owner = "", , , , provider = ""] = from.split("/");
  return {
    path,
    states: states.filter((state) => state !== undefined),
    whose: path === "owner" ? owner : provider,
    from,
  };
}

interface Walk<T> {
  /** The states that are still to be listed when this walk stops half-way. */
  readonly states: readonly string[];
  readonly entries: Iterable<[string, T]>;
}

function* walks<T>(list: ListOf<T>, start: Start, reverse: boolean): IterableIterator<Walk<T>> {
  const { path, states, whose, from } = start;
  if (path === "state") {
    for (const [index, state] of states.entries()) {
      const entries = walk(list.table, "", index === 0 ? from : undefined, reverse);
      yield { states: states.slice(index), entries: only(entries, (item) => list.stateOf(item) === state) };
    }
    return;
  }
  const entries = walk(list.table, path === "owner" ? `${whose}/` : "", from, reverse);
  const isTheirs = (item: T) => path === "owner" || list.providerOf?.(item) === whose;
  yield { states, entries: only(entries, (item) => isTheirs(item) && states.includes(list.stateOf(item))) };
}

function walk<T>(table: Table<T>, prefix: string, from: string | undefined, reverse: boolean): Iterable<[string, T]> {
  if (!reverse) return table.entries(prefix, from);
  return [...table.entries(prefix)].filter(([key]) => from === undefined || key <= from).reverse();
}

function* only<T>(entries: Iterable<[string, T]>, wanted: (item: T) => boolean): IterableIterator<[string, T]> {
  for (const entry of entries) if (wanted(entry[1])) yield entry;
}

const paths: readonly Path[] = ["state", "provider", "owner"];

/** A path as it stands in a page key. Lists without providers write fewer of them, and in their own way. */
function markOf<T>(list: ListOf<T>, path: Path): Uint8Array {
  if (list.providerOf) return Uint8Array.of(paths.indexOf(path));
  return path === "owner" ? Uint8Array.of(1) : new Uint8Array();
}

function nextKey<T>(list: ListOf<T>, path: Path, states: readonly string[], key: string): Uint8Array {
  const numbers = Uint8Array.from(states, (state) => list.states[state] ?? 0);
  return encodePageKey({
    states: numbers,
    prefix: numbers.subarray(0, 1),
    key: keyToBytes(key),
    path: markOf(list, path),
  });
}

/** What the chain calls the total is the length of this page. */
function page(items: readonly unknown[], nextKey?: Uint8Array): PageResponse {
  return PageResponseCodec.fromPartial({ total: items.length, ...(nextKey && { nextKey }) });
}
