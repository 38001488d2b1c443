/** Fetches and reads blocks in order, several at once; those furthest ahead are given up when too many bytes are held. */
import { hash } from "node:crypto";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import type { BlockTx, ChainBlock, TxResult } from "../block.ts";
import { type AbciAttribute, type AbciEvent, type EventSource, readEvent, type SourcedEvent } from "./events.ts";
import type { Pool } from "./pool.ts";
import { type RpcLimits, readGas, readHeight, reading, readTimeNs, rpcSliceChars } from "./rpc-call.ts";

/** Events of a block that are read between two breaths of the event loop: about 5 ms. */
const rpcSliceEvents = 500;

export async function fetchBlock(pool: Pool, height: bigint, bounds: RpcLimits, clock: Clock): Promise<ChainBlock> {
  const params = { height: `${height}` };
  const results = (result: unknown, node: string) => readBlockResults(node, height, result);
  const content = (result: unknown, node: string) => readBlockContent(node, height, pool.chainId, result);
  const [happened, made] = await Promise.all([
    pool.call("block_results", params, results, bounds),
    pool.call("block", params, content, bounds),
  ]);
  return readBlock(happened.result, made.result, clock);
}

interface AheadBounds {
  readonly width: number;
  /** Of things that wait for their turn; a single one may be larger. */
  readonly bytes: number;
}

export interface Fetching {
  readonly signal: AbortSignal;
  took(bytes: number): void;
}

interface Ahead<T> {
  readonly number: bigint;
  readonly stop: AbortController;
  readonly result: Promise<T>;
  bytes: number;
}

/** Stops at the first that fails and throws its error; those that were fetched ahead of it are given up. */
export async function* readAhead<T>(
  from: bigint,
  to: bigint,
  { width, bytes: mostBytes }: AheadBounds,
  fetch: (number: bigint, fetching: Fetching) => Promise<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const ahead: Ahead<T>[] = [];
  let next = from;
  let room = width;
  let heldBytes = 0;

  function start(): void {
    const stop = new AbortController();
    const took = (bytes: number) => {
      if (stop.signal.aborted) return;
      mine.bytes += bytes;
      heldBytes += bytes;
      while (heldBytes > mostBytes && ahead.length > 1) giveUpLast();
    };
    const result = fetch(next, { signal: AbortSignal.any([signal, stop.signal]), took });
    // A failure waits until its turn comes, and is no unhandled one meanwhile.
    result.catch(() => undefined);
    const mine = { number: next, stop, bytes: 0, result };
    ahead.push(mine);
    next += 1n;
  }

  function giveUpLast(): void {
    const last = ahead.pop();
    if (!last) return;
    last.stop.abort(new Error("too much came ahead of it"));
    heldBytes -= last.bytes;
    next = last.number;
    room = ahead.length;
  }

  try {
    for (let due = from; due <= to; due += 1n) {
      while (ahead.length < room && next <= to && (heldBytes < mostBytes || next === due)) start();
      const [first] = ahead as [Ahead<T>];
      yield await first.result;
      ahead.shift();
      heldBytes -= first.bytes;
      room = Math.min(room + 1, width);
    }
  } finally {
    for (const { stop } of ahead) stop.abort(new Error("no longer wanted"));
  }
}

type BlockResults = ReturnType<typeof readBlockResults>;
type BlockContent = ReturnType<typeof readBlockContent>;

/** The answer to block_results. Of a transaction that failed, nothing took effect. */
export function readBlockResults(node: string, height: bigint, result: unknown) {
  return reading(node, "block_results", () => {
    if (!isRecord(result)) throw new TypeError("it is not an object");
    mustBe(height, readHeight(result["height"]));
    const ofBlock = eventsIn(result["finalize_block_events"]);
    const isBegin = ({ attributes }: AbciEvent) =>
      attributes?.some(({ key, value }) => key === "mode" && value === "BeginBlock") ?? false;
    const txs = listIn(result["txs_results"]).map(readTxResult);
    const from = (source: EventSource, events: readonly AbciEvent[]) => events.map((event) => ({ source, event }));
    const ofTxs = txs.flatMap(({ code, events }, index) => (code === 0 ? from(index, events) : []));
    const coinsMovedOf = accountsIn([...ofBlock, ...txs.flatMap(({ events }) => events)]);
    const atEnd = ofBlock.filter((event) => !isBegin(event));
    // In the order in which they took effect.
    const events = [...from("begin", ofBlock.filter(isBegin)), ...ofTxs, ...from("end", atEnd)];
    return { height, txs, coinsMovedOf, events };
  });
}

/** Senders and receivers of coins, as the bank names them. */
function accountsIn(events: readonly AbciEvent[]): ReadonlySet<string> {
  const accounts = new Set<string>();
  for (const { type, attributes } of events) {
    const name = type === "coin_spent" ? "spender" : type === "coin_received" ? "receiver" : undefined;
    if (name === undefined) continue;
    for (const { key, value } of attributes ?? []) if (key === name) accounts.add(value);
  }
  return accounts;
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

export function readBlockContent(node: string, height: bigint, chainId: string, result: unknown) {
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

/** Both may come from different nodes. Yields to the event loop between slices of a large block. */
export async function readBlock(results: BlockResults, content: BlockContent, clock: Clock): Promise<ChainBlock> {
  const { height, events, coinsMovedOf } = results;
  if (content.txs.length !== results.txs.length) {
    const reason = `block ${height} has ${content.txs.length} transactions and ${results.txs.length} results`;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node: "a node", method: "block_results", reason });
  }
  const known: SourcedEvent[] = [];
  const malformed: ProviderError[] = [];
  let otherEvents = 0;
  for (const [index, { source, event: abci }] of events.entries()) {
    if (index % rpcSliceEvents === rpcSliceEvents - 1) await clock.yield();
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
  const inEffect = content.txs.filter((_, index) => results.txs[index]?.code === 0);
  const certificatesOf = await certificateOwners(inEffect, clock);
  return { height, timeNs: content.timeNs, txs, events: known, coinsMovedOf, certificatesOf, otherEvents, malformed };
}

function mustBe(wanted: bigint, found: bigint): void {
  if (found !== wanted) throw new TypeError(`it is of height ${found} instead of ${wanted}`);
}

export function readTxResult(result: unknown): TxResult {
  if (!isRecord(result)) throw new TypeError("a result of a transaction is not an object");
  const { code = 0, codespace = "", log = "" } = result;
  if (typeof code !== "number") throw new TypeError("a result of a transaction has no number as its code");
  return {
    code,
    codespace: String(codespace),
    log: String(log),
    gasWanted: readGas(result["gas_wanted"] ?? "0"),
    gasUsed: readGas(result["gas_used"] ?? "0"),
    events: eventsIn(result["events"]),
  };
}

/** Hashed on demand: most of the time no transaction is waited for. */
function blockTx(base64: string, result: TxResult): BlockTx {
  let known: string | undefined;
  return {
    ...result,
    get hash() {
      known ??= hash("sha256", Buffer.from(base64, "base64"), "hex").toUpperCase();
      return known;
    },
  };
}

function eventsIn(value: unknown): AbciEvent[] {
  return listIn(value).map((event) => {
    if (!isRecord(event) || typeof event["type"] !== "string") throw new TypeError("an event has no type");
    const attributes = listIn(event["attributes"]);
    // As they came where that is possible: a block may have a hundred thousand of them.
    if (attributes.every(isAttribute)) return { type: event["type"], attributes };
    return { type: event["type"], attributes: attributes.map(attributeOf) };
  });
}

function isAttribute(value: unknown): value is AbciAttribute {
  return isRecord(value) && typeof value["key"] === "string" && typeof value["value"] === "string";
}

function attributeOf(value: unknown): AbciAttribute {
  if (!isRecord(value)) throw new TypeError("an attribute is not an object");
  return { key: String(value["key"]), value: String(value["value"] ?? "") };
}

function listIn(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

// Whose certificates a block may have changed. The chain has no events for them. But however deep a message is wrapped, its name
// and its owner's address stand in the bytes of its transaction as text. Other accounts named there are included: an additional
// read does no harm.

const messages = "/akash.cert.";
const addresses = /akash1[02-9ac-hj-np-z]{38,}/gi;
/** Of 20 bytes and of 32; text of another field may follow without a gap. */
const addressChars = [44, 64];

/** Of transactions that took effect, in base64. */
export async function certificateOwners(txs: readonly string[], clock: Clock): Promise<ReadonlySet<string>> {
  const owners = new Set<string>();
  let chars = 0;
  for (const base64 of txs) {
    const bytes = Buffer.from(base64, "base64");
    if (bytes.includes(messages)) for (const owner of namedIn(bytes)) owners.add(owner);
    chars += base64.length;
    if (chars < rpcSliceChars) continue;
    chars = 0;
    await clock.yield();
  }
  return owners;
}

function namedIn(bytes: Buffer): string[] {
  const found = bytes.toString("latin1").match(addresses) ?? [];
  return found.flatMap((text) => addressChars.map((length) => text.slice(0, length).toLowerCase()));
}
