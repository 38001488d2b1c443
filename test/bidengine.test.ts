import assert from "node:assert/strict";
import { test } from "node:test";
import { formatOrderId } from "../src/market/ids.ts";
import { groupOfCpus, onBidStage } from "./bid-stage.ts";

test("an order is bid on, won, and its capacity handed over to the lease", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    const order = await stage.post(1n);
    const [key, bid] = [formatOrderId(order), one.bidOn(order)];
    await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
    assert.equal(one.capacity.freeMilli, 9_900n);
    await stage.accept(bid);
    await stage.until("the outcome", () => one.engine.orders(1)[0]?.outcome === "won");
    await stage.blocks(3);
    assert.equal(one.capacity.freeMilli, 9_900n, "it is the lease's now");
    assert.equal(one.journal.read.deadlines.get("bid", key), undefined);
    const [line] = one.engine.orders(1);
    assert.deepEqual(
      { ...line, seenAtMs: 0, createdAt: 0n, end: { ...line?.end, height: 0n, atMs: 0 } },
      {
        orderId: key,
        seenAtMs: 0,
        createdAt: 0n,
        most: "10000uact",
        verdict: "bid",
        reason: undefined,
        price: "10uact",
        outcome: "won",
        end: { how: "leased", winner: one.signer.address, price: "10uact", height: 0n, atMs: 0 },
      },
    );
  });
});

test("two orders for what is left: one bid, and the other when room comes", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { cpuMilli: 1_000n });
    await stage.postMany([1n, 2n], groupOfCpus(1_000n));
    await stage.until("a bid", () => one.status()?.bids === 1);
    await stage.blocks(5);
    assert.equal(one.status()?.bids, 1);
    assert.equal(one.status()?.waiting, 1);
    const refused = one.engine.orders(2).find(({ verdict }) => verdict === "no");
    assert.match(refused?.reason ?? "", /placementExists/);
    const bid = one.engine.orders(2).find(({ verdict }) => verdict === "bid");
    await stage.close(BigInt(bid?.orderId.split("/")[1] ?? ""));
    await stage.until("the other bid", () => one.engine.orders(2).every(({ verdict }) => verdict === "bid"));
  });
});
