/** The parent's side of `bids-node.ts`: posts orders and says how soon the bids on them were on the chain. */
import type { Owner } from "../test/support/owner.ts";
import type { BlockCounts, Command, Report } from "./bids-node.ts";
import { nextMessage, startChild } from "./processes.ts";
import { size } from "./report.ts";

export interface Market {
  readonly rpcUrl: string;
  /** Posts orders in one block and waits until there is a bid on each of them that is not bad, or long enough. */
  land(orders: number, badEvery?: number): Promise<Landing>;
  /** Has gas estimates take so long for each message. */
  slowEstimates(msPerMessage: number): void;
}

export interface Landing {
  readonly orders: number;
  /** Those that stay open. */
  readonly good: number;
  /** On good orders. */
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
const mostBlocks = size(30, 300);

export async function startMarket(owner: Owner): Promise<Market> {
  const child = startChild(owner, "bids-node.ts");
  const ask = (command: Command) => void child.send(command);
  let heard: (block: BlockCounts) => void = () => undefined;
  const { rpcUrl } = await nextMessage<Report, "ready">(child, "ready");
  child.on("message", (message: Report) => message.what === "block" && heard(message));

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
    rpcUrl,
    async land(orders, badEvery) {
      const good = orders - (badEvery === undefined ? 0 : Math.floor(orders / badEvery));
      ask({ what: "post", orders, ...(badEvery !== undefined && { badEvery }) });
      await blocksUntil((blocks) => blocks.at(-1)?.orders === orders);
      const blocks = await blocksUntil((all) => sum(all, "bids") >= good || all.length >= mostBlocks);
      ask({ what: "close" });
      await blocksUntil((all) => sum(all, "closed") >= good);
      return {
        orders,
        good,
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
