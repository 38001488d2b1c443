/**
 * An application for tests of the follower: a transaction is the number of events that it makes. Each event names an
 * order that no other names, so a list of what was seen shows what was missed, repeated or out of order.
 */
import { hash } from "node:crypto";
import type { AbciEvent, App, TxResult } from "../../src/box/chain/abci.ts";
import { plainEvent, typedEvent } from "../../src/box/chain/events.ts";
import { formatOrderId } from "../../src/market/ids.ts";
import { person } from "./stages/market-stage.ts";

const owner = person(1);

export interface EventApp extends App {
  /** Ids of all orders named so far, in order. */
  readonly orderIds: readonly string[];
}

export interface EventAppOptions {
  readonly chainId?: string;
  /** Events of every block outside any transaction, half at its beginning and half at its end. */
  readonly perBlock?: number;
}

export function createEventApp({ chainId = "events-1", perBlock = 0 }: EventAppOptions = {}): EventApp {
  let height = 0n;
  let appHash = hash("sha256", chainId, "buffer");
  let orders = 0n;
  const orderIds: string[] = [];

  function orderEvents(count: number): AbciEvent[] {
    return Array.from({ length: count }, () => {
      orders += 1n;
      const id = { owner, dseq: orders, gseq: 1, oseq: 1 };
      orderIds.push(formatOrderId(id));
      return typedEvent("akash.market.v1.EventOrderCreated", { id: { ...id } });
    });
  }

  function result(events: AbciEvent[]): TxResult {
    return { code: 0, codespace: "", data: Buffer.of(), log: "", gasWanted: 0n, gasUsed: 0n, events };
  }

  return {
    chainId,
    orderIds: orderIds,
    get height() {
      return height;
    },
    get lowestHeight() {
      return height;
    },
    get appHash() {
      return appHash;
    },
    checkTx: () => result([]),
    finalizeBlock(block) {
      height = block.height;
      const begin = orderEvents(Math.floor(perBlock / 2)).map((event) => inMode(event, "BeginBlock"));
      const txResults = block.txs.map((tx) =>
        result([plainEvent("tx", { fee: "" }), ...orderEvents(Number(Buffer.from(tx).toString().split(" ")[0]))]),
      );
      const end = orderEvents(Math.ceil(perBlock / 2)).map((event) => inMode(event, "EndBlock"));
      appHash = hash("sha256", Buffer.concat([appHash, ...block.txs]), "buffer");
      return { txResults, events: [...end, ...begin], appHash };
    },
    query: () => ({ code: 6, codespace: "sdk", log: "unknown query path", value: Buffer.of(), height }),
    queryPaths: [],
  };
}

function inMode({ type, attributes }: AbciEvent, value: string): AbciEvent {
  return { type, attributes: [...attributes, { key: "mode", value, index: true }] };
}
