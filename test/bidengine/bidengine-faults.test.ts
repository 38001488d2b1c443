import assert from "node:assert/strict";
import { test } from "node:test";
import { orderTimeRecheckMs } from "../../src/bidengine/bidengine.ts";
import { bidSnapshotAgeMs } from "../../src/bidengine/decision/decide.ts";
import { outboxTimeoutMs } from "../../src/chain/outbox/preparation.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { formatOrderId, type OrderId } from "../../src/market/ids.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { type BidStage, onBidStage, smallGroup } from "../support/stages/bid-stage.ts";

test("bids that are filed and not sent are cancelled by a pause, and made after it", async (t) => {
  await onBidStage(t, async (stage) => {
    const only = faultTransport(stage.node.transport("only"));
    const one = await stage.provider("one", { nodes: () => [only] });
    only.hangs = (method) => /broadcast/i.test(method);
    await stage.post(1n);
    const { intents } = one.journal.read;
    const states = () => intents.unsettled(intents.owed()).map(({ state }) => state);
    await stage.until("one on its way", () => states().includes("sent"));
    await stage.postMany([2n, 3n, 4n, 5n]);
    await stage.until("the others filed", () => states().length === 5);
    assert.deepEqual(states(), ["sent", "filed", "filed", "filed", "filed"]);
    await one.engine.pause("maintenance");
    await stage.blocks(5);
    assert.deepEqual(states(), ["sent"]);
    assert.equal(one.freeMilli(), 9_900n, "the capacity of the others is free again");
    only.hangs = () => false;
    await stage.blocks(20);
    assert.deepEqual([one.status()?.bids, one.status()?.waiting], [1, 4]);
    await one.engine.resume();
    await stage.until("the others", () => one.status()?.bids === 5);
  });
});

test("the status of a bid engine to which nothing happens is published once, however many blocks come", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    await stage.blocks(5);
    const topic = "akash.provider.bidengine.status";
    const published = () => one.bus.counts.get(topic)?.published ?? 0;
    const before = published();
    assert.ok(before >= 1);
    await stage.blocks(30);
    assert.equal(published(), before);
    await one.engine.pause("maintenance");
    await stage.until("the change", () => published() === before + 1);
  });
});

test("a bid whose transaction comes to nothing during a pause is not signed again before it ends", async (t) => {
  const play = async (stage: BidStage) => {
    const only = faultTransport(stage.node.transport("only"));
    const one = await stage.provider("one", { nodes: () => [only] });
    only.hangs = (method) => /broadcast/i.test(method);
    const order = await stage.post(1n);
    const { intents } = one.journal.read;
    const states = () => intents.about(formatOrderId(order)).map(({ state }) => state);
    await stage.until("one on its way", () => states().includes("sent"));
    await one.engine.pause("maintenance");
    await sleep(stage.clock, outboxTimeoutMs + 12_000);
    only.hangs = () => false;
    await stage.blocks(20);
    assert.equal(one.chain.outbox.counts.broadcasts, 0);
    assert.deepEqual(states(), ["cancelled"]);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value, undefined);
    assert.equal(one.freeMilli(), 10_000n, "its capacity is free again");
    await one.engine.resume();
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "open");
  };
  await onBidStage(t, play, { blockMs: 6_000 });
});

test("an order of which every manifest would be rejected is not bid on", async (t) => {
  await onBidStage(t, async (stage) => {
    const [kind, lasts] = [
      { key: "class", value: "ram" },
      { key: "persistent", value: "false" },
    ];
    const attributes = [kind, lasts].map(({ key, value }) => ({ key: `capabilities/storage/1/${key}`, value }));
    const one = await stage.provider("one", { options: { attributes } });
    const withVolume = (name: string): GroupSpec => ({
      ...smallGroup,
      units: smallGroup.units.map((unit) => ({
        ...unit,
        storage: [...unit.storage, { name, bytes: 2n ** 25n, attributes: [kind, lasts] }],
      })),
    });
    const silent = { ...smallGroup, units: smallGroup.units.map((unit) => ({ ...unit, endpoints: [] })) };
    const unreachable = await stage.post(3n, silent);
    const [rejected, fine] = [await stage.post(1n, withVolume("my_shm")), await stage.post(2n, withVolume("my-shm"))];
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(fine))).value?.state === "open");
    const [answer] = one.engine.why(formatOrderId(rejected));
    assert.match(answer?.reason ?? "no reason", /^manifestPossible: .*storage "my_shm" has an invalid name/);
    const why = () => one.engine.why(formatOrderId(unreachable))[0]?.reason ?? "";
    await stage.until("a decision on the other", () => why() !== "");
    assert.match(why(), /^manifestPossible: .*zero global services: no unit has an endpoint/);
    for (const each of [rejected, unreachable])
      assert.equal((await stage.queries.bid(one.bidOn(each))).value, undefined);
  });
});

test("a group without an endpoint is bid on where another group of its deployment has one, also after that was leased", async (t) => {
  await onBidStage(t, async (stage) => {
    const silent = {
      ...smallGroup,
      name: "silent",
      units: smallGroup.units.map((unit) => ({ ...unit, endpoints: [] })),
    };
    const order = await stage.post(1n, silent, smallGroup);
    const other = { ...order, gseq: 2 };
    await stage.rivalBid("two", other);
    await stage.accept({ ...other, provider: stage.signer("two").address, bseq: 0 });
    const one = await stage.provider("one");
    await stage.until("a decision", () => one.engine.why(formatOrderId(order)).length > 0);
    await stage.blocks(2);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value?.state, "open");
  });
});

test("nothing is bid while settings that every lease needs are missing, and a condition says which", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { options: { missingSettings: ["--cluster-public-hostname"] } });
    const order = await stage.post(1n);
    await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict === "no");
    const [answer] = one.engine.why(formatOrderId(order));
    assert.match(answer?.reason ?? "", /^settingsComplete: .*set --cluster-public-hostname, and restart/);
    const message = "every lease needs settings that are missing: set --cluster-public-hostname, and restart";
    const held = one.conditions().find(({ type }) => type === "SettingsMissing");
    assert.equal(held?.message, message);
  });
});

test("a node that hangs is left for another, and the order is bid on all the same", async (t) => {
  await onBidStage(t, async (stage) => {
    let bad: FaultTransport | undefined;
    const nodes = () => {
      bad = faultTransport(stage.node.transport("bad"));
      return [bad, stage.node.transport("good")];
    };
    const one = await stage.provider("one", { nodes });
    const first = await stage.post(1n);
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(first))).value !== undefined);
    if (bad) bad.hangs = () => true;
    const second = await stage.post(2n);
    await stage.until("another bid", async () => (await stage.queries.bid(one.bidOn(second))).value !== undefined);
    assert.equal(one.journal.read.intents.about(formatOrderId(second)).length, 1);
  });
});

test("a quota on broadcasts fails no intent: it is reported, and what waits is sent once the quota is over", async (t) => {
  await onBidStage(
    t,
    async (stage) => {
      const vendors: FaultTransport[] = [];
      const nodes = () => {
        vendors.push(...["one", "two"].map((name) => faultTransport(stage.node.transport(name))));
        return vendors;
      };
      const one = await stage.provider("one", { nodes, options: { bidTimeoutMs: 60_000 } });
      const order = await stage.post(1n);
      const bid = async () => (await stage.queries.bid(one.bidOn(order))).value?.state;
      await stage.until("a bid", async () => (await bid()) === "open");
      const isReported = () => one.conditions().some(({ type }) => type === "TransactionsHeld");
      assert.equal(isReported(), false);
      // As some vendors of RPC write it, with more in `data` than a text.
      const message = "daily request count exceeded, request rate limited";
      const error = { code: -32005, message, data: { see: "https://vendor.example" } };
      const limited = { status: 429, body: JSON.stringify({ jsonrpc: "2.0", error, id: null }) };
      for (const vendor of vendors) {
        vendor.answer = async (method, ofNode) => (method === "broadcast_tx_sync" ? limited : ofNode());
      }
      for (let minutes = 2; minutes <= 20; minutes += 2) {
        await sleep(stage.clock, 120_000);
        const closes = one.journal.read.intents.about(formatOrderId(order)).filter(({ what }) => what === "closeBid");
        assert.deepEqual(
          closes.map(({ state, failures = 0 }) => ({ state, failures })),
          [{ state: "sent", failures: 0 }],
          `after ${minutes} min`,
        );
        assert.match(one.chain.outbox.state.silent ?? "", /daily request count exceeded/, `after ${minutes} min`);
        assert.ok(isReported(), `after ${minutes} min`);
      }
      assert.deepEqual(
        one.chain.status.nodes.map(({ condition }) => condition),
        ["failing", "failing"],
      );
      for (const vendor of vendors) vendor.answer = (_, ofNode) => ofNode();
      await stage.until("the close", async () => (await bid()) === "closed");
      await stage.until("no report", () => !isReported());
    },
    { blockMs: 6_000 },
  );
});

/** The node reports its newest block as so much higher and later than it is. */
function overstate(node: FaultTransport | undefined, blocks: bigint, ms: number): void {
  assert.ok(node);
  node.answer = async (method, ofNode) => {
    const { status, body } = await ofNode();
    if (method !== "status") return { status, body };
    const higher = body.replace(/(?<="latest_block_height":")\d+/, (height) => `${BigInt(height) + blocks}`);
    const later = (time: string) => new Date(Date.parse(time) + ms).toISOString();
    return { status, body: higher.replace(/(?<="latest_block_time":")[^"]+/, later) };
  };
}

for (const { of, blocks } of [
  { of: 3, blocks: 5n },
  { of: 3, blocks: 10_000_000n },
  { of: 2, blocks: 1_000n },
]) {
  test(`one of ${of} nodes that reports ${blocks} blocks too many, the one in use, keeps no order from a bid`, async (t) => {
    await onBidStage(t, async (stage) => {
      const nodes = Array.from({ length: of }, (_, index) => faultTransport(stage.node.transport(`node ${index}`)));
      const one = await stage.provider("one", { nodes: () => nodes });
      const isBid = (order: OrderId) => async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined;
      await stage.until("a bid", isBid(await stage.post(1n)));
      overstate(nodes[0], blocks, 0);
      await stage.blocks(20);
      const during = await stage.post(2n);
      await stage.blocks(10);
      assert.ok(await isBid(during)(), "while it overstates");
      assert.ok((one.chain.status.head ?? 0n) <= stage.node.height);
      assert.deepEqual(
        one.chain.status.nodes.slice(1).map(({ condition }) => condition),
        Array(of - 1).fill("good"),
      );
    });
  });
}

test("after the only node has overstated its height, orders are bid on as before, and what was sent meanwhile is settled", async (t) => {
  const play = async (stage: BidStage) => {
    const nodes = [faultTransport(stage.node.transport("only"))];
    const one = await stage.provider("one", { nodes: () => nodes });
    const isBid = (order: OrderId) => async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined;
    await stage.until("a bid", isBid(await stage.post(1n)));
    const second = await stage.post(2n);
    await stage.until("it is sent", () => one.journal.read.transactions.all().length > 0);
    overstate(nodes[0], 1_000n, 0);
    await stage.blocks(40);
    overstate(nodes[0], 0n, 0);
    const third = await stage.post(3n);
    await stage.blocks(10);
    for (const order of [second, third]) assert.ok(await isBid(order)());
    await stage.until("all is settled", () => one.chain.outbox.counts.inFlight === 0);
  };
  await onBidStage(t, play, { blockMs: 6_000 });
});

for (const count of [1, 2, 3]) {
  test(`a node of ${count} that reports a time a day ahead holds no close, and no stamp is taken from it`, async (t) => {
    const play = async (stage: BidStage) => {
      const nodes = Array.from({ length: count }, (_, index) => faultTransport(stage.node.transport(`node ${index}`)));
      const one = await stage.provider("one", { nodes: () => nodes, options: { bidTimeoutMs: 20_000 } });
      const isClosed = (order: OrderId) => async () =>
        (await stage.queries.bid(one.bidOn(order))).value?.state === "closed";
      const order = await stage.post(1n);
      await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined);
      overstate(nodes[0], 0n, 86_400_000);
      await stage.until("the close", isClosed(order));
      overstate(nodes[0], 0n, 0);
      await stage.until("the next close", isClosed(await stage.post(2n)));
      const stamp = one.journal.read.transactions.lastTimeoutNs("bids-1", one.signer.address) ?? 0n;
      assert.ok(stamp < BigInt(stage.clock.now() + outboxTimeoutMs) * 1_000_000n);
      assert.equal(one.chain.outbox.state.stalled, undefined);
    };
    await onBidStage(t, play, { blockMs: 6_000 });
  });
}

test("what happened while no node answered is made up for: lost, closed and new orders", async (t) => {
  await onBidStage(t, async (stage) => {
    let only: FaultTransport | undefined;
    const one = await stage.provider("one", {
      nodes: () => {
        only = faultTransport(stage.node.transport("only"));
        return [only];
      },
    });
    const [lost, closed] = [await stage.post(1n), await stage.post(2n)];
    await stage.until("two bids", () => one.status()?.bids === 2);
    if (only) only.hangs = () => true;
    for (const name of ["two", "three"]) await stage.rivalBid(name, lost);
    await stage.accept({ ...lost, provider: stage.signer("three").address, bseq: 0 });
    await stage.close(2n);
    const fresh = await stage.post(3n);
    await stage.blocks(20);
    assert.equal((await stage.queries.bid(one.bidOn(fresh))).value, undefined);
    if (only) only.hangs = () => false;
    await stage.until("the new bid", async () => (await stage.queries.bid(one.bidOn(fresh))).value?.state === "open");
    await stage.until("the ends", () => one.freeMilli() === 9_900n && one.status()?.bids === 1);
    const line = (order: typeof lost) => one.engine.why(formatOrderId(order))[0];
    await stage.until("their words", () => line(lost)?.outcome === "lost" && line(closed)?.outcome === "order closed");
    await stage.until("who won", () => line(lost)?.end?.winner === stage.signer("three").address);
    assert.equal(one.status()?.deposits[0]?.amount, 500_000n, "only the open bid's");
  });
});

test("deposits of orders that ended in blocks which no node has any more are refunded all the same", async (t) => {
  const play = async (stage: BidStage) => {
    let only: FaultTransport | undefined;
    const one = await stage.provider("one", {
      nodes: () => {
        only = faultTransport(stage.node.transport("only"));
        return [only];
      },
    });
    const [lost, closed] = [await stage.post(1n), await stage.post(2n)];
    await stage.until("two bids", () => one.status()?.bids === 2);
    if (only) only.hangs = () => true;
    // Two, so that the chain leaves ours open.
    for (const name of ["two", "three"]) await stage.rivalBid(name, lost);
    await stage.accept({ ...lost, provider: stage.signer("three").address, bseq: 0 });
    await stage.close(2n);
    await stage.blocks(30);
    let gaps = 0;
    one.chain.onStep(({ gap }) => {
      if (gap) gaps += 1;
    });
    if (only) only.hangs = () => false;
    await stage.until("the gap", () => gaps > 0);
    await stage.until("the ends", () => one.status()?.bids === 0 && one.freeMilli() === 10_000n);
    await stage.until("the deposits", () => one.status()?.deposits.length === 0);
    for (const order of [lost, closed]) {
      const { value } = await stage.queries.bid(one.bidOn(order));
      assert.ok(value?.state === "lost" || value?.state === "closed", value?.state);
    }
    const outcome = (order: typeof lost) => one.engine.why(formatOrderId(order))[0]?.outcome;
    await stage.until("their words", () => outcome(lost) === "lost" && outcome(closed) === "order closed");
    assert.equal(one.journal.rows().reservations, 0);
  };
  await onBidStage(t, play, { keepBlocks: 10 });
});

test("what became of a bid is right also where the answer about it is newer than the mirror", async (t) => {
  await onBidStage(t, async (stage) => {
    const nodes: FaultTransport[] = [];
    const boundary = {
      // From the moment it has left, blocks are not to be had, and all else is.
      cross(kind: string, point: string) {
        if (kind !== "broadcast" || !point.endsWith("after")) return;
        for (const node of nodes) node.hangs = (method) => method.startsWith("block");
      },
    };
    const one = await stage.provider("one", {
      boundary,
      nodes: () => {
        nodes.push(faultTransport(stage.node.transport("only")));
        return nodes;
      },
    });
    const order = await stage.post(1n);
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "open");
    await stage.close(1n);
    const outcome = () => one.journal.read.orders.get(formatOrderId(order))?.outcome;
    await stage.until("its end", () => outcome() !== undefined);
    assert.equal(outcome(), "order closed");
  });
});

test("snapshot too old → no bids, reservations stay; a new snapshot → the bid", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    await stage.post(1n);
    await stage.until("a bid", () => one.status()?.bids === 1);
    one.feed.silence();
    await stage.blocks(bidSnapshotAgeMs / 1_000 + 5);
    const order = await stage.post(2n);
    await stage.until("a no", () => one.engine.orders(1)[0]?.verdict === "no");
    assert.match(one.engine.orders(1)[0]?.reason ?? "", /^inventoryFresh: inventory snapshot is \d+ s old/);
    assert.equal(one.journal.rows().reservations, 1);
    one.feed.draw(10_000n);
    await stage.until("the bid", async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined);
    assert.equal(one.freeMilli(), 9_800n);
    // A snapshot with less than is promised: what is promised stays so, and nothing more is.
    one.feed.draw(150n);
    await stage.post(3n);
    await stage.until("a no", () => one.engine.orders(1)[0]?.verdict === "no");
    assert.equal(one.journal.rows().reservations, 2);
  });
});

test("old snapshot confirmed unchanged → the order is bid on soon", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    one.feed.silence();
    await stage.blocks(bidSnapshotAgeMs / 1_000 + 5);
    const order = await stage.post(1n);
    await stage.until("a no", () => one.engine.orders(1)[0]?.verdict === "no");
    one.feed.resume();
    await stage.blocks((2 * orderTimeRecheckMs) / 1_000);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value?.state, "open");
  });
});

test("bid timeout passed while the provider was down → handled at the start", async (t) => {
  await onBidStage(t, async (stage) => {
    const options = { bidTimeoutMs: 20_000 };
    const one = await stage.provider("one", { options });
    const order = await stage.post(1n);
    await stage.until("a bid", () => one.status()?.bids === 1);
    await one.stop();
    await stage.blocks(30);
    const again = await stage.provider("one", { options });
    await stage.until("its end", async () => (await stage.queries.bid(again.bidOn(order))).value?.state === "closed");
    await stage.until("its word", () => again.engine.orders(1)[0]?.outcome === "timed out");
    await stage.until("the capacity", () => again.freeMilli() === 10_000n);
  });
});
