/**
 * From orders to bids with everything in between: a node in another process makes a block a second, a tenant posts many
 * orders in one of its blocks, and a whole provider with a cluster of 100 nodes decides, reserves, prices, writes down and
 * sends. Counted is what lands on the chain, by the node.
 */
import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createOwner } from "../test/support/owner.ts";
import { type Bidder, openBidder } from "./bidder.ts";
import { type Landing, type Market, startMarket } from "./bids-market.ts";
import { cpuMs, type Row, report, round, rssMb, size } from "./report.ts";

const [warmUp, fewOrders, manyOrders, slowOrders] = size([50, 200, 1_000, 2_000], [5, 20, 50, 100]);
/** With those before them, 10,000 orders. */
const waves = size({ count: 5, orders: 1_000 }, { count: 1, orders: 50 });
/** As on a real node. */
const estimateMs = 1;
/** There is no baseline: blocks come by the clock, so the bars are absolute. */
const bars = {
  blocks: ["≤", 2],
  scriptBlocks: ["≤", 2],
  decisionP99Ms: ["≤", 50],
  perBlock1000: ["≥", 500],
  blocks2000: ["≤", 3],
} as const;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const rows: Row[] = [];

  const bidder = await openBidder(market.rpcUrl, "scale");
  const run = (name: string, orders: number, badEvery?: number) =>
    measure(rows, name, bidder, () => market.land(orders, badEvery));
  // The first bid ever is estimated, and everything is compiled.
  await run("warm-up", warmUp);
  const few = await run("scale", fewOrders);
  const many = await run("scale", manyOrders);
  await slowly(market, () => run("slow estimates, one of 50 bad", slowOrders, 50));
  const decisionP99Ms = await bidder.decisionP99Ms();
  const slow = await slowly(market, () => run("slow estimates", slowOrders));
  for (let wave = 1; wave <= waves.count; wave++) await run(`wave ${wave}`, waves.orders);
  await bidder[Symbol.asyncDispose]();

  await using scripted = await openBidder(market.rpcUrl, "shellScript");
  await measure(rows, "script, warm-up", scripted, () => market.land(warmUp));
  const script = await measure(rows, "script", scripted, () => market.land(fewOrders));

  const line = {
    bench: "bids",
    orders: few.orders,
    bids: few.bids,
    blocks: few.blocks,
    scriptBids: script.bids,
    scriptBlocks: script.blocks,
    decisionP99Ms,
    perBlock1000: round(many.bids / many.blocks, 0),
    bids2000: slow.bids,
    blocks2000: slow.blocks,
    rssMb: Math.max(...rows.map((row) => Number(row["rssMb"]))),
  };
  report("bids on orders of one block, node in another process, 100 nodes", rows, line, bars);
}

/** What lands, and what it takes of this process: for deciding and sending, and until all of it is over again. */
async function measure(rows: Row[], name: string, bidder: Bidder, land: () => Promise<Landing>): Promise<Landing> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedMs = cpuMs();
  const landing = await land();
  assert.equal(landing.bids, landing.good, `${name}: bids are missing; of the newest order: ${bidder.lastNo()}`);
  await bidder.quiet();
  delay.disable();
  rows.push({
    name,
    ...landing,
    cpuMs: round(cpuMs() - startedMs, 0),
    delayP99Ms: round(delay.percentile(99) / 1e6, 0),
    rssMb: rssMb(),
  });
  return landing;
}

async function slowly<T>(market: Market, work: () => Promise<T>): Promise<T> {
  market.slowEstimates(estimateMs);
  const result = await work();
  market.slowEstimates(0);
  return result;
}
