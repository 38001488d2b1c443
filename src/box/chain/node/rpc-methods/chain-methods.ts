/** Methods about blocks and who made them. */
import { largest } from "../../../../runtime/bigint.ts";
import { noBlockId } from "../block-bytes.ts";
import type { Block, BlockStore } from "../block-store.ts";
import type { BoxChain } from "../chain.ts";
import {
  blockJson,
  blockMetaJson,
  blockResultsJson,
  commitJson,
  consensusParamsJson,
  headerJson,
  validatorJson,
} from "../encoding.ts";
import { upperHex } from "../merkle.ts";
import { NodeError } from "../node-error.ts";
import { checkedQuery } from "../query-language.ts";
import { ordered, pageOf, searchBlocks } from "../search.ts";
import { type Methods, method } from "./method.ts";

/** CometBFT never lists more headers at once. */
const headersListed = 20n;

/** A vote is at least this much younger than the block it is for. */
const leastVoteAgeNs = 1_000_000n;

export function chainMethods({ store, validator }: Pick<BoxChain, "store" | "validator">): Methods {
  const found = (block: Block) => ({ block_id: block.id, block: blockJson(block) });

  return {
    block: method({ height: "int64" }, ({ height }) => found(store.need(height))),
    block_by_hash: method({ hash: "base64" }, ({ hash }) => {
      const block = store.byHash(upperHex(hash));
      return block ? found(block) : { block_id: noBlockId, block: null };
    }),
    block_results: method({ height: "int64" }, ({ height }) => blockResultsJson(store.need(height))),
    header: method({ height: "int64" }, ({ height }) => ({ header: headerJson(store.need(height).header) })),
    header_by_hash: method({ hash: "hex" }, ({ hash }) => {
      const block = store.byHash(upperHex(hash));
      return { header: block ? headerJson(block.header) : null };
    }),
    commit: method({ height: "int64" }, ({ height }) => {
      const { header, id } = store.need(height);
      // The votes for a block stand in the next one. Those for the latest are not settled yet: any valid ones will do.
      const next = store.at(header.height + 1n);
      const votes = next?.lastCommit ?? validator.commit(header.height, id, header.timeNs + leastVoteAgeNs);
      return {
        signed_header: { header: headerJson(header), commit: commitJson(votes) },
        canonical: next !== undefined,
      };
    }),
    blockchain: method({ minHeight: "int64", maxHeight: "int64" }, ({ minHeight, maxHeight }) => {
      const [least, most] = headerRange(store, minHeight ?? 0n, maxHeight ?? 0n);
      const metas = [];
      for (let height = most; height >= least; height--) metas.push(blockMetaJson(store.need(height)));
      return { last_height: `${store.height}`, block_metas: metas };
    }),
    block_search: method(
      { query: "text", page: "int", per_page: "int", order_by: "text" },
      ({ query, page, per_page, order_by }) => {
        const blocks = ordered(searchBlocks(store, checkedQuery(query)), order_by, "desc");
        return { blocks: pageOf(blocks, page, per_page).map(found), total_count: `${blocks.length}` };
      },
    ),
    validators: method({ height: "int64", page: "int", per_page: "int" }, ({ height, page, per_page }) => {
      const validators = pageOf([validator], page, per_page);
      return {
        block_height: `${store.needHeight(height, store.height + 1n)}`,
        validators: validators.map(validatorJson),
        count: `${validators.length}`,
        total: "1",
      };
    }),
    consensus_params: method({ height: "int64" }, ({ height }) => ({
      block_height: `${store.needHeight(height, store.height + 1n)}`,
      consensus_params: consensusParamsJson,
    })),
  };
}

function headerRange(store: BlockStore, minHeight: bigint, maxHeight: bigint): [bigint, bigint] {
  if (minHeight < 0n || maxHeight < 0n) throw new NodeError("heights must be non-negative");
  const most = maxHeight === 0n || maxHeight > store.height ? store.height : maxHeight;
  const least = largest(minHeight, store.lowest, most - headersListed + 1n, 1n);
  if (least > most) throw new NodeError(`min height ${least} can't be greater than max height ${most}`);
  return [least, most];
}
