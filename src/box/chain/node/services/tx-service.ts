/** cosmos.tx.v1beta1.Service, as far as it needs the node; what a transaction would cost is the application's to say. */
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { bytes, int64, messageOf, repeated, required } from "../../../../runtime/protobuf.ts";
import { noTxResult, type TxResult } from "../../abci.ts";
import { timeJson } from "../../context.ts";
import { invalidArgument, notFound, sdkError } from "../../errors.ts";
import type { ChainError } from "../../module.ts";
import type { BlockStore, TxPlace } from "../block-store.ts";
import { txHash } from "../blocks.ts";
import type { Mempool } from "../mempool.ts";
import { upperHex } from "../merkle.ts";
import { NodeError } from "../node-error.ts";
import { parseQuery } from "../query-language.ts";
import type { NodeService } from "../query-router.ts";
import { ordered, pageOf, searchTxs } from "../search.ts";

const service = "/cosmos.tx.v1beta1.Service";

export function txService(store: BlockStore, mempool: Mempool): [path: string, NodeService][] {
  return [
    [`${service}/GetTx`, (request) => getTx(store, cosmos.GetTxRequest.decode(request))],
    [`${service}/GetTxsEvent`, (request) => getTxsEvent(store, cosmos.GetTxsEventRequest.decode(request))],
    [`${service}/BroadcastTx`, (request) => broadcastTx(mempool, cosmos.BroadcastTxRequest.decode(request))],
  ];
}

/** Transactions go out as the bytes that came in. */
const foundCodec = messageOf({
  tx: required(1, bytes, new Uint8Array()),
  response: required(2, bytes, new Uint8Array()),
});
const searchedCodec = messageOf({ txs: repeated(1, bytes), responses: repeated(2, bytes), total: int64(4) });

function getTx(store: BlockStore, { hash }: cosmos.GetTxRequest): Uint8Array {
  if (hash === "") throw invalidArgument("tx hash cannot be empty");
  const place = store.tx(hash.toUpperCase());
  if (!place) throw notFound(`tx not found: ${hash}`);
  return foundCodec.encode({ tx: txBytes(place), response: foundTx(place) });
}

function getTxsEvent(store: BlockStore, request: cosmos.GetTxsEventRequest): Uint8Array {
  const query = request.query || request.events.join(" AND ");
  if (query === "") throw searchError("query cannot be empty");
  try {
    const order = request.orderBy === cosmos.OrderBy.ORDER_BY_DESC ? "desc" : "asc";
    const all = ordered(searchTxs(store, parseQuery(query)), order, "asc");
    const places = pageOf(all, request.page.toNumber() || 1, request.limit.toNumber() || usualLimit);
    const [txs, responses] = [places.map(txBytes), places.map(foundTx)];
    return searchedCodec.encode({ txs, responses, total: BigInt(all.length) });
  } catch (thrown) {
    if (thrown instanceof NodeError) throw searchError(`failed to search for txs: ${thrown.message}`);
    throw thrown;
  }
}

/** What the SDK lists when no limit is named. */
const usualLimit = 100;

function searchError(reason: string): ChainError {
  return sdkError("unknownRequest", `rpc error: code = Internal desc = ${reason}`);
}

function broadcastTx(mempool: Mempool, { txBytes: tx, mode }: cosmos.BroadcastTxRequest): Uint8Array {
  if (tx.length === 0) throw invalidArgument("invalid empty tx");
  const sync = mode === cosmos.BroadcastMode.BROADCAST_MODE_SYNC;
  if (!sync && mode !== cosmos.BroadcastMode.BROADCAST_MODE_ASYNC) {
    throw sdkError("unknownRequest", "unsupported return type unspecified; supported types: sync, async");
  }
  const { code, codespace, data, log } = taken(mempool, tx);
  const answer = sync ? { code, codespace, data: upperHex(data), rawLog: log } : {};
  return cosmos.BroadcastTxResponse.encode(
    cosmos.BroadcastTxResponse.fromPartial({ txResponse: { ...answer, txhash: txHash(tx) } }),
  ).finish();
}

/** Over gRPC the node's own rejections are codes of the SDK. */
function taken(mempool: Mempool, tx: Uint8Array): TxResult {
  try {
    return mempool.take(tx);
  } catch (thrown) {
    if (!(thrown instanceof NodeError)) throw thrown;
    const known = errorCodes.find(([words]) => thrown.message.includes(words));
    if (!known) throw sdkError("unknownRequest", thrown.message);
    return { ...noTxResult, codespace: "sdk", code: known[1] };
  }
}

const errorCodes: [words: string, code: number][] = [
  ["already exists in cache", 19],
  ["mempool is full", 20],
  ["Tx too large", 21],
];

function txBytes({ block, index }: TxPlace): Uint8Array {
  return block.txs[index] ?? new Uint8Array();
}

function foundTx(place: TxPlace): Uint8Array {
  const { block, index } = place;
  const { code, codespace, data, log, gasWanted, gasUsed, events } = block.output.txResults[index] ?? noTxResult;
  const response = cosmos.TxResponse.fromPartial({
    height: `${block.header.height}`,
    txhash: block.txHashes[index] ?? "",
    codespace,
    code,
    data: upperHex(data),
    rawLog: log,
    gasWanted: `${gasWanted}`,
    gasUsed: `${gasUsed}`,
    tx: { typeUrl: "/cosmos.tx.v1beta1.Tx", value: txBytes(place) },
    timestamp: timeJson(block.header.timeNs),
    events: events.map(({ type, attributes }) => ({ type, attributes: attributes.map((each) => ({ ...each })) })),
  });
  return cosmos.TxResponse.encode(response).finish();
}
