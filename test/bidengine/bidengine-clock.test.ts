/** Bids while the local clock is wrong: what is measured is the chain's time, so they leave, and end when they are due. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { bidCloseRetryMs } from "../../src/bidengine/order-loop.ts";
import { formatOrderId } from "../../src/market/ids.ts";
import { memoryFolder } from "../support/folder.ts";
import { type BiddingProvider, type BidStage, onBidStage, startProvider } from "../support/stages/bid-stage.ts";

const bidTimeoutMs = 60_000;

/** A provider whose time of day is so far ahead of the chain's. */
async function withClock(
  t: TestContext,
  play: (stage: BidStage, one: BiddingProvider, ahead: { ms: number }) => Promise<void>,
): Promise<void> {
  await onBidStage(t, async (stage) => {
    const ahead = { ms: 0 };
    const clock = { ...stage.clock, now: () => stage.clock.now() + ahead.ms };
    await stage.register("one");
    const { node, cluster } = stage;
    const own = { clock, node, cluster, dir: join(memoryFolder(t), "one"), signer: stage.signer("one") };
    const started = startProvider({ ...own, options: { bidTimeoutMs } });
    try {
      await play(stage, await started.ready, ahead);
    } finally {
      await started.stop();
    }
  });
}

test("an order is bid on once while the local clock is hours behind the chain", async (t) => {
  await withClock(t, async (stage, one, ahead) => {
    ahead.ms = -5 * 3_600_000;
    const order = await stage.post(1n);
    await stage.blocks(10);
    const states = one.journal.read.intents.about(formatOrderId(order)).map(({ what, state }) => `${what} ${state}`);
    assert.deepEqual(states, ["createBid done"]);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value?.state, "open");
  });
});

test("a bid made while the local clock was a day ahead is closed in time after the clock is corrected", async (t) => {
  await withClock(t, async (stage, one, ahead) => {
    ahead.ms = 86_400_000;
    const order = await stage.post(1n);
    const state = async () => (await stage.queries.bid(one.bidOn(order))).value?.state;
    await stage.until("a bid", async () => (await state()) === "open");
    const [openAt, free] = [stage.node.height, one.freeMilli()];
    ahead.ms = 0;
    await stage.until("it is closed", async () => (await state()) === "closed");
    assert.ok(Number(stage.node.height - openAt) <= bidTimeoutMs / 1_000 + 10, "a block takes a second");
    await stage.until("its capacity is free", () => (one.freeMilli() ?? 0n) > (free ?? 0n));
  });
});

test("a close of a bid that failed rests for as long as ever before the next, also while the local clock is behind the chain", async (t) => {
  await withClock(t, async (stage, one, ahead) => {
    const order = await stage.post(1n);
    const subject = formatOrderId(order);
    const isClosed = async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "closed";
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "open");
    ahead.ms = -3_600_000;
    await stage.blocks(bidTimeoutMs / 1_000 - 10);
    const closing = { subject, why: "a test", priority: 0, what: "closeBid", body: {} };
    await one.journal.durable("test", ({ intents }) => intents.settle(intents.file(closing), "failed"));
    await stage.blocks(bidCloseRetryMs / 1_000 - 5);
    assert.equal(await isClosed(), false);
    await stage.until("the next", isClosed);
  });
});

test("a close of a bid that failed is tried again after the local clock was set back", async (t) => {
  await withClock(t, async (stage, one, ahead) => {
    const order = await stage.post(1n);
    const subject = formatOrderId(order);
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "open");
    ahead.ms = 86_400_000;
    const closing = { subject, why: "a test", priority: 0, what: "closeBid", body: {} };
    await one.journal.durable("test", ({ intents }) => intents.settle(intents.file(closing), "failed"));
    ahead.ms = 0;
    await stage.blocks(bidTimeoutMs / 1_000 + 10);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value?.state, "closed");
  });
});
