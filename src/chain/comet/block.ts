/** A block as we follow it: its height, its time, its transactions, and what happened on the market in it, in order. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { limits } from "../../runtime/limits.ts";
import { eventsIn, listIn } from "./abci-events.ts";
import { type BlockTx, blockTx, readTxResult, type TxResult } from "./block-tx.ts";
import { type AbciEvent, type MarketEvent, readEvent } from "./events.ts";
import { reading } from "./rpc-answer.ts";
import { readHeight, readTimeNs } from "./wire-text.ts";

/** The number of the transaction in its block, or where the chain itself did it. */
export type EventSource = number | "begin" | "end";

export interface SourcedEvent {
  readonly source: EventSource;
  readonly event: MarketEvent;
}

export interface ChainBlock {
  readonly height: bigint;
  readonly timeNs: bigint;
  /** All of them, whoever sent them and whatever came of them. */
  readonly txs: readonly BlockTx[];
  readonly events: readonly SourcedEvent[];
  /** Addresses whose coins came or went, also by the fee of a transaction that failed. */
  readonly coinsMovedOf: ReadonlySet<string>;
  /** Events that are none of the market's: passed over. */
  readonly otherEvents: number;
  /** Events of the market that cannot be read. State that they touch must be read from the chain. */
  readonly malformed: readonly ProviderError[];
}

export interface BlockResults {
  readonly height: bigint;
  /** In the order in which they took effect: begin of the block, transactions, end of the block. */
  readonly events: readonly { readonly source: EventSource; readonly event: AbciEvent }[];
  readonly txs: readonly TxResult[];
  readonly coinsMovedOf: ReadonlySet<string>;
}

/** When a block was made, and its transactions in base64. */
export interface BlockContent {
  readonly timeNs: bigint;
  readonly txs: readonly string[];
}

/** The answer to block_results. Of a transaction that failed, nothing took effect. */
export function readBlockResults(node: string, height: bigint, result: unknown): BlockResults {
  return reading(node, "block_results", () => {
    if (!isRecord(result)) throw new TypeError("it is not an object");
    mustBe(height, readHeight(result["height"]));
    const ofBlock = eventsIn(result["finalize_block_events"]);
    const isBegin = ({ attributes }: AbciEvent) =>
      attributes?.some(({ key, value }) => key === "mode" && value === "BeginBlock") ?? false;
    const txs = listIn(result["txs_results"]).map(readTxResult);
    const ofTxs = txs.flatMap(({ code, events }, index) =>
      code === 0 ? events.map((event) => ({ source: index, event })) : [],
    );
    const coinsMovedOf = new Set<string>();
    noteAccounts(ofBlock, coinsMovedOf);
    for (const { events } of txs) noteAccounts(events, coinsMovedOf);
    return {
      height,
      txs,
      coinsMovedOf,
      events: [
        ...ofBlock.filter(isBegin).map((event) => ({ source: "begin" as const, event })),
        ...ofTxs,
        ...ofBlock.filter((event) => !isBegin(event)).map((event) => ({ source: "end" as const, event })),
      ],
    };
  });
}

/** The bank tells of both ends of every move under these names. */
function noteAccounts(events: readonly AbciEvent[], accounts: Set<string>): void {
  for (const { type, attributes } of events) {
    const name = type === "coin_spent" ? "spender" : type === "coin_received" ? "receiver" : undefined;
    if (name === undefined) continue;
    for (const { key, value } of attributes ?? []) if (key === name) accounts.add(value);
  }
}

/** The answer to header: when the block was made. */
export function readHeaderTime(node: string, height: bigint, chainId: string, result: unknown): bigint {
  return reading(node, "header", () => {
    const header = isRecord(result) ? result["header"] : undefined;
    if (!isRecord(header)) throw new TypeError("it holds no header");
    return headerTime(header, height, chainId);
  });
}

function headerTime(header: Record<string, unknown>, height: bigint, chainId: string): bigint {
  mustBe(height, readHeight(header["height"]));
  if (header["chain_id"] !== chainId) throw new TypeError(`it belongs to the chain ${header["chain_id"]}`);
  return readTimeNs(header["time"]);
}

/** The answer to block. */
export function readBlockContent(node: string, height: bigint, chainId: string, result: unknown): BlockContent {
  return reading(node, "block", () => {
    const block = isRecord(result) ? result["block"] : undefined;
    const header = isRecord(block) ? block["header"] : undefined;
    const data = isRecord(block) ? block["data"] : undefined;
    if (!isRecord(header) || !isRecord(data)) throw new TypeError("it holds no block");
    const timeNs = headerTime(header, height, chainId);
    const txs = listIn(data["txs"]).map((tx) => {
      if (typeof tx !== "string") throw new TypeError("a transaction is not a text");
      return tx;
    });
    return { timeNs, txs };
  });
}

/**
 * Both may come from different nodes; those that do not fit together are of no use. The event loop goes on while a large
 * block is read.
 */
export async function readBlock(results: BlockResults, content: BlockContent, clock: Clock): Promise<ChainBlock> {
  const { height, events, coinsMovedOf } = results;
  if (content.txs.length !== results.txs.length) throw unlike(results, content);
  const known: SourcedEvent[] = [];
  const malformed: ProviderError[] = [];
  let otherEvents = 0;
  for (const [index, { source, event: abci }] of events.entries()) {
    if (index % limits.rpcSliceEvents === limits.rpcSliceEvents - 1) await clock.yield();
    try {
      const event = readEvent(abci);
      if (event) known.push({ source, event });
      else otherEvents += 1;
    } catch (thrown) {
      if (!(thrown instanceof ProviderError)) throw thrown;
      const details = { type: abci.type, height, reason: reasonOf(thrown) };
      malformed.push(new ProviderError("AKP_CHAIN_EVENT_MALFORMED", details, { cause: thrown }));
    }
  }
  const txs = results.txs.map((result, index) => blockTx(content.txs[index] ?? "", result));
  return { height, timeNs: content.timeNs, txs, events: known, coinsMovedOf, otherEvents, malformed };
}

function unlike({ height, txs }: BlockResults, content: BlockContent): ProviderError {
  const reason = `block ${height} has ${content.txs.length} transactions and ${txs.length} results`;
  return new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint: "a node", method: "block_results", reason });
}

function mustBe(wanted: bigint, found: bigint): void {
  if (found !== wanted) throw new TypeError(`it is of height ${found} instead of ${wanted}`);
}
