/** A block as we follow it: its height, its time, and what happened on the market in it, in order. */
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { type AbciEvent, type MarketEvent, readEvent } from "./events.ts";
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
  readonly events: readonly SourcedEvent[];
  /** Events that are none of the market's: passed over. */
  readonly otherEvents: number;
  /** Events of the market that cannot be read. State that they touch must be read from the chain. */
  readonly malformed: readonly ProviderError[];
}

export interface BlockResults {
  readonly height: bigint;
  /** In the order in which they took effect: begin of the block, transactions, end of the block. */
  readonly events: readonly { readonly source: EventSource; readonly event: AbciEvent }[];
}

/** The answer to block_results. Of a transaction that failed, nothing took effect. */
export function readBlockResults(node: string, height: bigint, result: unknown): BlockResults {
  return reading(node, "block_results", () => {
    if (!isRecord(result)) throw new TypeError("it is not an object");
    mustBe(height, readHeight(result["height"]));
    const ofBlock = eventsIn(result["finalize_block_events"]);
    const isBegin = ({ attributes }: AbciEvent) =>
      attributes?.some(({ key, value }) => key === "mode" && value === "BeginBlock") ?? false;
    const ofTxs = listIn(result["txs_results"]).flatMap((tx, index) => {
      if (!isRecord(tx)) throw new TypeError("a result of a transaction is not an object");
      if ((tx["code"] ?? 0) !== 0) return [];
      return eventsIn(tx["events"]).map((event) => ({ source: index, event }));
    });
    return {
      height,
      events: [
        ...ofBlock.filter(isBegin).map((event) => ({ source: "begin" as const, event })),
        ...ofTxs,
        ...ofBlock.filter((event) => !isBegin(event)).map((event) => ({ source: "end" as const, event })),
      ],
    };
  });
}

/** The answer to header: when the block was made. */
export function readHeaderTime(node: string, height: bigint, chainId: string, result: unknown): bigint {
  return reading(node, "header", () => {
    const header = isRecord(result) ? result["header"] : undefined;
    if (!isRecord(header)) throw new TypeError("it holds no header");
    mustBe(height, readHeight(header["height"]));
    if (header["chain_id"] !== chainId) throw new TypeError(`the header belongs to the chain ${header["chain_id"]}`);
    return readTimeNs(header["time"]);
  });
}

export function readBlock({ height, events }: BlockResults, timeNs: bigint): ChainBlock {
  const known: SourcedEvent[] = [];
  const malformed: ProviderError[] = [];
  let otherEvents = 0;
  for (const { source, event: abci } of events) {
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
  return { height, timeNs, events: known, otherEvents, malformed };
}

function mustBe(wanted: bigint, found: bigint): void {
  if (found !== wanted) throw new TypeError(`it is of height ${found} instead of ${wanted}`);
}

function listIn(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

function eventsIn(value: unknown): AbciEvent[] {
  return listIn(value).map((event) => {
    if (!isRecord(event) || typeof event["type"] !== "string") throw new TypeError("an event has no type");
    const attributes = listIn(event["attributes"]).map((attribute) => {
      if (!isRecord(attribute)) throw new TypeError("an attribute is not an object");
      return { key: String(attribute["key"]), value: String(attribute["value"] ?? "") };
    });
    return { type: event["type"], attributes };
  });
}

function reading<T>(endpoint: string, method: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason: thrown.message });
  }
}
