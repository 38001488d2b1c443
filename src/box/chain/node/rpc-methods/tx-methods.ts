import { noTxResult, type TxResult } from "../../abci.ts";
import { txHash } from "../blocks.ts";
import type { BoxChain } from "../chain.ts";
import type { CommitWaits } from "../commit-waits.ts";
import { base64, txJson, txResultJson } from "../encoding.ts";
import type { Mempool } from "../mempool.ts";
import { upperHex } from "../merkle.ts";
import { NodeError } from "../node-error.ts";
import { checkedQuery } from "../query-language.ts";
import { ordered, pageOf, perPageOf, searchTxs } from "../search.ts";
import { chainSubscribers } from "../subscriptions.ts";
import { type Methods, method } from "./method.ts";

export function txMethods({ store, mempool }: Pick<BoxChain, "store" | "mempool">, waits: CommitWaits): Methods {
  return {
    broadcast_tx_sync: method({ tx: "base64" }, ({ tx }) => taken(mempool.take(tx), tx)),
    broadcast_tx_async: method({ tx: "base64" }, ({ tx }) => {
      mempool.take(tx);
      return taken(noTxResult, tx);
    }),
    broadcast_tx_commit: method({ tx: "base64" }, ({ tx }) => broadcastAndWait(mempool, waits, tx)),
    tx: method({ hash: "base64", prove: "flag" }, ({ hash }) => {
      const place = store.tx(upperHex(hash));
      if (!place) throw new NodeError(`tx (${upperHex(hash)}) not found`);
      return txJson(place);
    }),
    tx_search: method(
      { query: "text", prove: "flag", page: "int", per_page: "int", order_by: "text" },
      ({ query, page, per_page, order_by }) => {
        const places = ordered(searchTxs(store, checkedQuery(query)), order_by, "asc");
        return { txs: pageOf(places, page, per_page).map(txJson), total_count: `${places.length}` };
      },
    ),
    unconfirmed_txs: method({ limit: "int" }, ({ limit }) => {
      const txs = mempool.waiting(perPageOf(limit));
      return { ...poolSize(mempool, txs.length), txs: txs.map(base64) };
    }),
    num_unconfirmed_txs: method({}, () => ({ ...poolSize(mempool, mempool.size), txs: null })),
  };
}

function taken(result: TxResult, tx: Uint8Array): unknown {
  const { code, data, log, codespace } = result;
  return { code, data: upperHex(data), log, codespace, hash: txHash(tx) };
}

async function broadcastAndWait(mempool: Mempool, waits: CommitWaits, tx: Uint8Array): Promise<unknown> {
  const hash = txHash(tx);
  if (waits.size >= chainSubscribers) {
    throw new NodeError(`max_subscription_clients ${chainSubscribers} reached`);
  }
  const check = takeForCommit(mempool, tx);
  const place = check.code === 0 ? await waits.wait(hash) : undefined;
  const result = place?.block.output.txResults[place.index] ?? noTxResult;
  return {
    check_tx: txResultJson(check),
    tx_result: txResultJson(result),
    hash,
    height: `${place?.block.header.height ?? 0n}`,
  };
}

function takeForCommit(mempool: Mempool, tx: Uint8Array): TxResult {
  try {
    return mempool.take(tx);
  } catch (thrown) {
    if (thrown instanceof NodeError) throw new NodeError(`error on broadcastTxCommit: ${thrown.message}`);
    throw thrown;
  }
}

function poolSize(mempool: Mempool, count: number): { n_txs: string; total: string; total_bytes: string } {
  return { n_txs: `${count}`, total: `${mempool.size}`, total_bytes: `${mempool.bytes}` };
}
