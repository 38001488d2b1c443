/**
 * How soon bids land: a node in another process makes a block a second; orders are created in one block, and a bid on each
 * is filed as soon as that block is seen. Real signatures, at most 50 messages per transaction.
 */
import assert from "node:assert/strict";
import type { Settled } from "../src/chain/chain.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createWakeup } from "../src/chain/comet/wakeup.ts";
import { createOutbox, type OutboxLoop } from "../src/chain/outbox/outbox.ts";
import type { Broadcaster } from "../src/chain/tx/broadcaster.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import { transactionHash } from "../src/chain/tx/transaction.ts";
import { openJournal } from "../src/journal/open.ts";
import { parseAddress } from "../src/market/address.ts";
import { parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import type { OrderId } from "../src/market/ids.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { signTransaction, type TestKey } from "../test/support/chain-signing.ts";
import { eventually } from "../test/support/eventually.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { closeDeployment, createDeployment } from "../test/support/market-messages.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import type { Message } from "../test/support/stages/market-stage.ts";
import {
  bidOn,
  chainId,
  providerKey,
  providerSigner,
  registration,
  tenantKey,
} from "../test/support/stages/outbox-stage.ts";
import type { Report } from "./outbox-node.ts";
import { nextMessage, startChild } from "./processes.ts";
import { report, round, size } from "./report.ts";

const [fewOrders, manyOrders] = size([200, 2_000], [20, 50]);
/** There is no baseline: blocks come by the clock, so the bars are absolute. */
const bars = { blocks: ["≤", 2], blocks2: ["≤", 6] } as const;

interface Landing {
  readonly orders: number;
  readonly landed: number;
  /** Blocks after the one that created the orders until the last bid was in. */
  readonly blocks: number;
  readonly seconds: number;
  readonly transactions: number;
}

export async function bench(): Promise<void> {
  const market = await openMarket();
  const few = await land(market, fewOrders);
  const many = await land(market, manyOrders);
  const spoiled = await land(market, fewOrders, true);
  await market.owner[Symbol.asyncDispose]();
  const rows = Object.entries({ few, many, spoiled }).map(([name, landing]) => ({ name, ...landing }));
  const line = {
    bench: "outbox",
    orders: few.orders,
    landed: few.landed,
    blocks: few.blocks,
    orders2: many.orders,
    landed2: many.landed,
    blocks2: many.blocks,
    spoiledLanded: spoiled.landed,
  };
  report("outbox: bids on orders of one block, node in another process", rows, line, bars);
}

interface Market {
  readonly owner: Owner & AsyncDisposable;
  readonly chain: Broadcaster;
  readonly outbox: OutboxLoop;
  /** Runs before the next transaction of the outbox is broadcast. */
  beforeBroadcast: (() => Promise<void>) | undefined;
}

async function openMarket(): Promise<Market> {
  const owner = createOwner();
  const url = await startNode(owner);
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const pool = createPool({ nodes: createHttpTransports([{ url }], realClock), ...deps });
  owner.after(() => pool.close());
  await pool.open();
  const chain = createCometBroadcaster(pool);
  const { journal } = await openJournal({ dir: temporaryFolder(owner), ...deps });
  owner.after(() => journal.close());

  let gate: Promise<void> | undefined;
  const gated: Broadcaster = {
    ...chain,
    async broadcast(tx) {
      gate ??= market.beforeBroadcast?.();
      await gate;
      return chain.broadcast(tx);
    },
  };
  const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
  const outbox = createOutbox({ chainId, signer: providerSigner, chain: gated, journal, ...deps, settings });
  const abort = new AbortController();
  const running = outbox.run(abort.signal);
  const wakeup = createWakeup({ node: () => pool.preferred, wake: outbox.wake, ...deps });
  const waking = wakeup.run(abort.signal);
  owner.after(async () => {
    abort.abort();
    await Promise.all([running, waking]);
  });
  const market: Market = { owner, chain, outbox, beforeBroadcast: undefined };
  await deliver(chain, providerKey, [[registration(providerKey.address)]]);
  return market;
}

async function startNode(owner: Owner): Promise<string> {
  const child = startChild(owner, "outbox-node.ts");
  return (await nextMessage<Report, "ready">(child, "ready")).rpcUrl;
}

let nextDseq = 1n;

async function land(market: Market, count: number, spoil = false): Promise<Landing> {
  const { chain, outbox } = market;
  const orders = Array.from({ length: count }, (): OrderId => {
    return { owner: parseAddress(tenantKey.address), dseq: nextDseq++, gseq: 1, oseq: 1 };
  });
  const groups = Array.from({ length: Math.ceil(count / 50) }, (_, group) => orders.slice(group * 50, group * 50 + 50));
  const createdAt = await deliver(
    chain,
    tenantKey,
    groups.map((group) => group.map((id) => createDeployment({ id }))),
  );
  if (spoil) {
    market.beforeBroadcast = async () =>
      void (await submit(chain, tenantKey, [closeDeployment(orders[17] as OrderId)]));
  }
  const before = outbox.counts.transactions;
  const startedMs = performance.now();
  const ids = await Promise.all(orders.map((order) => outbox.file(bidOn(order))));
  const settled = await Promise.all(ids.map(outbox.wait));
  const seconds = round((performance.now() - startedMs) / 1_000);
  const landed = settled.filter(({ state }) => state === "done");
  assert.equal(landed.length, spoil ? count - 1 : count, "bids that landed");
  const blocks = Number(lastHeight(landed) - createdAt);
  return { orders: count, landed: landed.length, blocks, seconds, transactions: outbox.counts.transactions - before };
}

function lastHeight(settled: readonly Settled[]): bigint {
  return settled.map(({ result }) => BigInt(result.height ?? 0)).reduce((a, b) => (a > b ? a : b), 0n);
}

/** Transactions that must all be in one block; gives its height. Signed in advance, sent at the beginning of a block. */
async function deliver(
  chain: Broadcaster,
  key: TestKey,
  transactions: readonly (readonly Message[])[],
): Promise<bigint> {
  const signed: string[] = [];
  const { height } = await chain.head();
  await eventually("the next block", async () => (await chain.head()).height > height);
  await Promise.all(transactions.map(async (messages) => signed.push(await submit(chain, key, messages))));
  const heights = await Promise.all(
    signed.map((hash) =>
      eventually("the transaction is in a block", async () => {
        const included = await chain.findTx(hash, 0n);
        if (included && included.code !== 0) throw new Error(included.log);
        return included?.height;
      }),
    ),
  );
  const [first = 0n] = heights;
  if (heights.some((each) => each !== first)) throw new Error(`not in one block: ${[...new Set(heights)].join(", ")}`);
  return first;
}

let stampTieNs = 0n;

async function submit(chain: Broadcaster, key: TestKey, messages: readonly Message[]): Promise<string> {
  const head = await chain.head();
  const account = await chain.account(key.address, head.height);
  const gas = 1_500_000 * messages.length;
  const tx = signTransaction({
    messages,
    signers: [{ key, accountNumber: account?.number ?? 0n }],
    chainId,
    gas,
    fee: [{ denom: "uakt", amount: `${gas}` }],
    unorderedNs: head.timeNs + 60_000_000_000n + stampTieNs++,
  });
  const receipt = await chain.broadcast(tx);
  if (receipt.kind === "refused") throw new Error(receipt.log);
  return transactionHash(tx);
}
