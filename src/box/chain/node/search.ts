/** Finds transactions and blocks by query, oldest first; an index would only pay beyond what the node keeps anyway. */
import type { Block, BlockStore, TxPlace } from "./block-store.ts";
import { blockValues, txValues } from "./event-feed.ts";
import { matchesQuery, type Query } from "./query-language.ts";

export function searchTxs(store: BlockStore, query: Query): TxPlace[] {
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

export function searchBlocks(store: BlockStore, query: Query): Block[] {
  return [...store.all()].filter((block) => matchesQuery(query, blockValues(block)));
}
