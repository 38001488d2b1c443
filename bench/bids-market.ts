/** The parent's side of `bids-node.ts`: posts orders and says how soon the bids on them were on the chain. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Owner } from "../test/owner.ts";
import type { Asked, BlockCounts, Told } from "./bids-node.ts";

export interface Market {
  readonly rpcUrl: string;
  /** Posts orders in one block and waits until there is a bid on each of them that is not bad, or long enough. */
  land(orders: number, badEvery?: number): Promise<Landing>;
  /** Has gas estimates take so long for each message. */
  slowEstimates(msPerMessage: number): void;
}

export interface Landing {
  readonly orders: number;
  readonly bids: number;
  /** Blocks after the one that created the orders until the last bid was in. */
  readonly blocks: number;
  /** The most bids in one block. */
  readonly perBlock: number;
  /** Transactions that came into a block and failed there. */
  readonly failedTxs: number;
  /** Messages of which the gas was estimated. */
  readonly estimated: number;
}

/** A bid that has not come by then does not come. */
const patienceBlocks = 30;

export async function startMarket(owner: Owner): Promise<Market> {
  const child = fork(join(import.meta.dirname, "bids-node.ts"), { execArgv: [], serialization: "advanced" });
  const closed = once(child, "close");
  const ask = (asked: Asked) => void child.send(asked);
  owner.after(async () => {
    ask({ what: "stop" });
    await closed;
  });
  let heard: (block: BlockCounts) => void = () => undefined;
  const ready = new Promise<string>((resolve) => {
    child.on("message", (told: Told) => (told.what === "ready" ? resolve(told.rpcUrl) : heard(told)));
  });

  /** Every block until one of them satisfies. */
  function blocksUntil(isLast: (blocks: readonly BlockCounts[]) => boolean): Promise<readonly BlockCounts[]> {
    const blocks: BlockCounts[] = [];
    return new Promise((resolve) => {
      heard = (block) => {
        blocks.push(block);
        if (isLast(blocks)) resolve(blocks);
      };
    });
  }

  return {
    rpcUrl: await ready,
    async land(orders, badEvery) {
      const bad = badEvery === undefined ? 0 : Math.floor(orders / badEvery);
      ask({ what: "post", orders, ...(badEvery !== undefined && { badEvery }) });
      await blocksUntil((blocks) => blocks.at(-1)?.orders === orders);
      const blocks = await blocksUntil((all) => sum(all, "bids") >= orders - bad || all.length >= patienceBlocks);
      ask({ what: "close" });
      await blocksUntil((all) => sum(all, "closed") >= orders - bad);
      return {
        orders,
        bids: sum(blocks, "bids"),
        blocks: blocks.length,
        perBlock: Math.max(...blocks.map(({ bids }) => bids)),
        failedTxs: sum(blocks, "failedTxs"),
        estimated: sum(blocks, "estimated"),
      };
    },
    slowEstimates: (msPerMessage) => ask({ what: "estimate", msPerMessage }),
  };
}

function sum(blocks: readonly BlockCounts[], what: keyof BlockCounts): number {
  return blocks.reduce((all, block) => all + block[what], 0);
}
