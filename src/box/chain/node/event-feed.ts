/** Publishes blocks and transactions to subscribers, in CometBFT's order. */
import type { AbciEvent } from "../abci.ts";
import type { Block } from "./block-store.ts";
import { eventJson, headerJson, newBlockEventJson, txEventJson } from "./encoding.ts";
import { type EventQuery, type EventValues, matchesQuery } from "./query-language.ts";

/** One event, as JSON text that every subscriber shares. */
export interface FeedEvent {
  readonly data: string;
  readonly events: string;
}

export interface EventFeed {
  subscribe(query: EventQuery, deliver: (event: FeedEvent) => void): () => void;
  publish(block: Block): void;
  readonly subscriptions: number;
}

interface Subscription {
  readonly query: EventQuery;
  deliver(event: FeedEvent): void;
}

export function createEventFeed(): EventFeed {
  const subscriptions = new Set<Subscription>();

  function publish(name: string, data: () => unknown, values: Map<string, string[]>): void {
    add(values, "tm.event", name);
    let event: FeedEvent | undefined;
    for (const subscription of [...subscriptions]) {
      if (!matchesQuery(subscription.query, values)) continue;
      event ??= {
        data: JSON.stringify({ type: `tendermint/event/${name}`, value: data() }),
        events: JSON.stringify(Object.fromEntries(values)),
      };
      subscription.deliver(event);
    }
  }

  return {
    subscribe(query, deliver) {
      const subscription = { query, deliver };
      subscriptions.add(subscription);
      return () => void subscriptions.delete(subscription);
    },
    publish(block) {
      // Skips encoding the block if there is no subscriber, which is the usual case.
      if (subscriptions.size === 0) return;
      const { header, output, txs } = block;
      publish("NewBlock", () => newBlockEventJson(block), valuesOf(output.events));
      publish("NewBlockHeader", () => ({ header: headerJson(header) }), new Map());
      const summary = { height: `${header.height}`, events: output.events.map(eventJson), num_txs: `${txs.length}` };
      publish("NewBlockEvents", () => summary, valuesOf(output.events));
      for (const index of txs.keys()) {
        publish("Tx", () => txEventJson({ block, index }), txValues(block, index));
      }
    },
    get subscriptions() {
      return subscriptions.size;
    },
  };
}

/** What conditions on a transaction are held against. */
export function txValues(block: Block, index: number): Map<string, string[]> {
  const values = valuesOf(block.output.txResults[index]?.events ?? []);
  add(values, "tx.hash", block.txHashes[index] ?? "");
  add(values, "tx.height", `${block.header.height}`);
  return values;
}

export function blockValues(block: Block): EventValues {
  const values = valuesOf(block.output.events);
  add(values, "block.height", `${block.header.height}`);
  return values;
}

function valuesOf(events: readonly AbciEvent[]): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const { type, attributes } of events) {
    for (const { key, value } of attributes) add(values, `${type}.${key}`, value);
  }
  return values;
}

function add(values: Map<string, string[]>, key: string, value: string): void {
  const known = values.get(key);
  if (known) known.push(value);
  else values.set(key, [value]);
}
