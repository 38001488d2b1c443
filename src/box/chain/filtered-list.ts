/**
 * Lists of deployments, orders, bids and leases, cut as Akash cuts them: along the owner's things, along the
 * provider's, or state by state. The path and the states travel in the key of the next page, the other filters do not.
 */
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { readUint64, type Wire64 } from "../../chain/codec/wire-messages.ts";
import type { BidId, DeploymentId } from "../../market/ids.ts";
import { checkOffset, decodePageKey, firstPage, type ListedPage, stateValues, type Walk } from "./akash-paging.ts";
import { invalidArgument } from "./errors.ts";
import { keyOfBytes, keyToBytes } from "./market-ids.ts";
import type { Table } from "./store.ts";

type AnyId = DeploymentId & Partial<BidId>;

interface ListOf<T> {
  readonly table: Table<T>;
  /** By name, in the order in which they are listed. */
  readonly states: Readonly<Record<string, number>>;
  /** For what belongs to a provider too. */
  readonly byProvider?: boolean;
}

/** Empty and zero fields do not filter. */
interface Filters {
  readonly state: string;
  readonly owner: string;
  readonly dseq: Wire64 | undefined;
  readonly gseq?: number;
  readonly oseq?: number;
  readonly provider?: string;
  readonly bseq?: number;
}

type Path = "state" | "provider" | "owner";

interface Start {
  readonly path: Path;
  readonly states: readonly number[];
  /** Whose things are listed, on the paths of owner and provider. */
  readonly whose: string;
  /** The first key of the page; undefined for the beginning. */
  readonly from: string | undefined;
}

const noFilters: Filters = { state: "", owner: "", dseq: undefined };

/** The filters apply to every page that repeats them. */
export function filteredList<T extends { readonly id: AnyId; readonly state: string }>(
  list: ListOf<T>,
  filters: Filters = noFilters,
  request: PageRequest | undefined,
): ListedPage<T> {
  checkOffset(request, filters.state);
  const reverse = request?.reverse ?? false;
  const { path, states, whose, from } = request?.key.length ? resume(list, request.key) : begin(list, filters, reverse);
  const stretches = path === "state" ? states.map((_, index) => states.slice(index)) : [states];
  const walks = stretches.map((left, index): Walk<T> => {
    const [first = 0] = left;
    const wanted = path === "state" ? [first] : left;
    return {
      entries: walk(list.table, path === "owner" ? `${whose}/` : "", index === 0 ? from : undefined, reverse),
      isWanted: ({ id, state }) =>
        wanted.includes(list.states[state] ?? 0) &&
        (path !== "provider" || id.provider === whose) &&
        accepts(filters, id),
      keyAt: (key) => ({
        states: Uint8Array.from(left),
        prefix: Uint8Array.of(first),
        key: keyToBytes(key),
        path: markOf(list, path),
      }),
    };
  });
  return firstPage(walks, request);
}

function begin<T>(list: ListOf<T>, { state, owner, provider = "" }: Filters, reverse: boolean): Start {
  const states = stateValues(list.states, state);
  if (owner !== "") return { path: "owner", states, whose: owner, from: undefined };
  if (provider !== "") return { path: "provider", states, whose: provider, from: undefined };
  return { path: "state", states: reverse ? states.toReversed() : states, whose: "", from: undefined };
}

function resume<T>(list: ListOf<T>, pageKey: Uint8Array): Start {
  const { states, key, path: mark } = decodePageKey(pageKey);
  const path = paths.find((path) => Buffer.compare(markOf(list, path), mark) === 0);
  const known = Object.values(list.states);
  if (!path || !states.every((state) => known.includes(state))) throw invalidArgument("invalid pagination key");
  const from = keyOfBytes(key);
  const [owner = "", , , , provider = ""] = from.split("/");
  return { path, states: [...states], whose: path === "owner" ? owner : provider, from };
}

function walk<T>(table: Table<T>, prefix: string, from: string | undefined, reverse: boolean): Iterable<[string, T]> {
  if (!reverse) return table.entries(prefix, from);
  const upTo = [...table.entries(prefix)].filter(([key]) => from === undefined || key <= from);
  return upTo.reverse();
}

function accepts({ owner, dseq, gseq = 0, oseq = 0, provider = "", bseq = 0 }: Filters, id: AnyId): boolean {
  const wanted = readUint64(dseq);
  return (
    (owner === "" || id.owner === owner) &&
    (wanted === 0n || id.dseq === wanted) &&
    (gseq === 0 || id.gseq === gseq) &&
    (oseq === 0 || id.oseq === oseq) &&
    (provider === "" || id.provider === provider) &&
    (bseq === 0 || id.bseq === bseq)
  );
}

const paths: readonly Path[] = ["state", "provider", "owner"];

/** A path as it stands in a page key. Lists without providers write fewer of them, and in their own way. */
function markOf<T>(list: ListOf<T>, path: Path): Uint8Array {
  if (list.byProvider) return Uint8Array.of(paths.indexOf(path));
  return path === "owner" ? Uint8Array.of(1) : new Uint8Array();
}
