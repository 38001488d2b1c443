/** A chain of the event application, and a follower that keeps what it is handed. */
import { join } from "node:path";
import { createNode, type Node, type NodeOptions } from "../../src/box/chain/node/node.ts";
import type { Gap } from "../../src/chain/chain.ts";
import { cursorIn } from "../../src/chain/chain-service.ts";
import type { BlockConsumer, Follower } from "../../src/chain/comet/follower.ts";
import { createFollower } from "../../src/chain/comet/follower.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { createPool, type Pool } from "../../src/chain/comet/pool.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { openJournal } from "../../src/journal/open.ts";
import { journalRelaxedFlushMs } from "../../src/journal/writer.ts";
import { formatOrderId } from "../../src/market/ids.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { createEventApp, type EventApp, type EventAppOptions } from "./event-app.ts";
import { memoryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";
import { createSeededRandom } from "./seeded-random.ts";

export interface EventChain {
  readonly node: Node;
  readonly app: EventApp;
  /** A block with so many events in each of its transactions. */
  block(...eventsPerTx: number[]): Promise<void>;
}

export async function startEventChain(
  owner: Owner,
  { keepBlocks, blockMs, ...options }: EventAppOptions & Pick<NodeOptions, "keepBlocks" | "blockMs"> = {},
): Promise<EventChain> {
  const app = createEventApp(options);
  const bounds = { ...(keepBlocks && { keepBlocks }), ...(blockMs && { blockMs }) };
  const node = createNode({ app, clock: realClock, log: silentLog, indexMs: 0, ...bounds });
  owner.after(() => node.stop());
  await node.start();
  let txs = 0;
  return {
    node,
    app,
    async block(...eventsPerTx) {
      for (const events of eventsPerTx) {
        txs += 1;
        const tx = Buffer.from(`${events} ${txs}`).toString("base64");
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "broadcast_tx_sync", params: { tx } });
        await (await fetch(node.rpcUrl, { method: "POST", body })).text();
      }
      node.step();
    },
  };
}

export function openPool(owner: Owner, urls: readonly string[], chainId?: string, clock: Clock = realClock): Pool {
  const pool = createPool({
    nodes: createHttpTransports(
      urls.map((url) => ({ url })),
      clock,
    ),
    ...(chainId !== undefined && { chainId }),
    clock,
    random: createSeededRandom(1),
    log: silentLog,
  });
  owner.after(() => pool.close());
  return pool;
}

const hurriedClock: Clock = {
  ...realClock,
  timer: (delayMs, fire) => realClock.timer(delayMs <= journalRelaxedFlushMs ? 1 : delayMs, fire),
};

export interface Following {
  readonly follower: Follower;
  readonly journal: Journal;
  /** The texts of the orders that were seen, in order. */
  readonly seen: readonly string[];
  readonly heights: readonly bigint[];
  readonly gaps: readonly Gap[];
  /** Rejects when the follower failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface FollowOptions {
  readonly start?: bigint;
  readonly dir?: string;
  readonly boundary?: Boundary;
  readonly consumer?: Partial<BlockConsumer>;
  readonly log?: Log;
  /** Relaxed writes of the journal wait for a millisecond only, so that there are many of them. */
  readonly hurried?: boolean;
  readonly opened?: (journal: Journal) => void;
  readonly clock?: Clock;
}

/** Follows with a journal of its own from the first block on, unless told otherwise. */
export async function follow(owner: Owner, pool: Pool, options: FollowOptions = {}): Promise<Following> {
  const { start = 0n, dir = memoryFolder(owner), boundary = openBoundary, consumer = {} } = options;
  const { clock = realClock } = options;
  // Real also where time is not: whoever stops waits for the last write.
  const journalClock = options.hurried ? hurriedClock : realClock;
  const { journal } = await openJournal({ dir: join(dir, "journal"), clock: journalClock, log: silentLog, boundary });
  options.opened?.(journal);
  const seen: string[] = [];
  const heights: bigint[] = [];
  const gaps: Gap[] = [];
  const follower = createFollower({
    pool,
    cursor: cursorIn(journal),
    clock,
    log: options.log ?? silentLog,
    consumer: {
      async block(block, head) {
        for (const { event } of block.events) if (event.kind === "OrderCreated") seen.push(formatOrderId(event.id));
        heights.push(block.height);
        return consumer.block?.(block, head);
      },
      async gap(gap) {
        gaps.push(gap);
        return consumer.gap?.(gap);
      },
    },
  });
  const stopping = new AbortController();
  const ended = follower.run(start, stopping.signal);
  ended.catch(() => undefined);
  async function stop(): Promise<void> {
    stopping.abort();
    await ended.catch(() => undefined);
    await journal.close().catch(() => undefined);
  }
  owner.after(stop);
  return { follower, journal, seen, heights, gaps, ended, stop };
}
