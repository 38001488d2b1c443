/** Finds transactions and blocks by query; an index would only pay beyond what the node keeps anyway. */
import type { Block, BlockStore, TxPlace } from "./block-store.ts";
import { blockValues, txValues } from "./event-feed.ts";
import { NodeError } from "./node-error.ts";
import { type EventQuery, matchesQuery } from "./query-language.ts";

/** Oldest first. */
export function searchTxs(store: BlockStore, query: EventQuery): TxPlace[] {
  const found: TxPlace[] = [];
  // Most searches name a height or a range of them: other blocks need not be looked into.
  const heights = query.conditions.filter(({ tag }) => tag === "tx.height");
  for (const block of store.all()) {
    const height = `${block.header.height}`;
    if (!heights.every((condition) => condition.matches(height))) continue;
    for (const [index, hash] of block.txHashes.entries()) {
      // A transaction that was tried twice is found where it ended.
      if (store.tx(hash)?.block !== block) continue;
      if (matchesQuery(query, txValues(block, index))) found.push({ block, index });
    }
  }
  return found;
}

/** Oldest first. */
export function searchBlocks(store: BlockStore, query: EventQuery): Block[] {
  return [...store.all()].filter((block) => matchesQuery(query, blockValues(block)));
}

const usualPerPage = 30;
const mostPerPage = 100;

export function perPageOf(wanted: number | undefined): number {
  return wanted === undefined || wanted < 1 ? usualPerPage : Math.min(wanted, mostPerPage);
}

export function pageOf<T>(all: readonly T[], page: number | undefined, perPage: number | undefined): T[] {
  const size = perPageOf(perPage);
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = page ?? 1;
  if (number < 1 || number > pages) {
    throw new NodeError(`page should be within [1, ${pages}] range, given ${number}`);
  }
  return all.slice((number - 1) * size, number * size);
}

export function ordered<T>(ascending: readonly T[], order: string, usual: "asc" | "desc"): readonly T[] {
  const wanted = order || usual;
  if (wanted !== "asc" && wanted !== "desc") {
    throw new NodeError("expected order_by to be either `asc` or `desc` or empty");
  }
  return wanted === "asc" ? ascending : ascending.toReversed();
}
