import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Pricing } from "../../src/bidengine/pricing/pricing.ts";
import { place } from "../../src/cluster/capacity/placement/place.ts";
import { type GpuCount, openRoom } from "../../src/cluster/capacity/placement/room.ts";
import { parseDecCoin } from "../../src/market/coin.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { type BidId, formatOrderId, parseOrderId } from "../../src/market/ids.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { reasonOf } from "../../src/runtime/errors.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { temporaryFolder } from "../support/folder.ts";
import { runs } from "../support/runs.ts";
import { cluster, gpuCount, sampleNode } from "../support/samples/placement-samples.ts";
import {
  fixedPricing,
  groupOfCpus,
  groupOfGpus,
  onBidStage,
  type ProviderParts,
  type Sound,
  smallGroup,
} from "../support/stages/bid-stage.ts";

test("an order is bid on, won, and its capacity handed over to the lease", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    const order = await stage.post(1n);
    const [key, bid] = [formatOrderId(order), one.bidOn(order)];
    await stage.until("a bid", async () => (await stage.queries.bid(bid)).value?.state === "open");
    assert.equal(one.freeMilli(), 9_900n);
    await stage.accept(bid);
    await stage.until("the outcome", () => one.engine.orders(1)[0]?.outcome === "won");
    await stage.blocks(3);
    assert.equal(one.freeMilli(), 9_900n, "it is the lease's now");
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

test("two orders for the remaining capacity: one bid, and the other when room comes", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { cpuMilli: 1_000n });
    await stage.postMany([1n, 2n], groupOfCpus(1_000n));
    await stage.until("a bid", () => one.status()?.bids === 1);
    await stage.blocks(5);
    assert.equal(one.status()?.bids, 1);
    assert.equal(one.status()?.waiting, 1);
    const rejected = one.engine.orders(2).find(({ verdict }) => verdict === "no");
    assert.match(rejected?.reason ?? "", /placementExists/);
    const bid = one.engine.orders(2).find(({ verdict }) => verdict === "bid");
    await stage.close(BigInt(bid?.orderId.split("/")[1] ?? ""));
    await stage.until("the other bid", () => one.engine.orders(2).every(({ verdict }) => verdict === "bid"));
  });
});

for (const [name, first, second] of [
  ["by its model", "h100", "h100"],
  ["as any GPU", "*", "*"],
  ["by its model and as any GPU", "h100", "*"],
] as const) {
  test(`two orders for the last GPU, requested ${name}: one bid, and the other when the GPU comes back`, async (t) => {
    await onBidStage(t, async (stage) => {
      const attributes = [{ key: "capabilities/gpu/vendor/nvidia/model/h100", value: "true" }];
      const one = await stage.provider("one", { gpuCounts: [gpuCount("h100", 1n)], options: { attributes } });
      await Promise.all([stage.post(1n, groupOfGpus(first)), stage.post(2n, groupOfGpus(second))]);
      await stage.blocks(5);
      const orders = one.engine.orders(2);
      const [bid, rejected] = ["bid", "no"].map((verdict) => orders.find((order) => order.verdict === verdict));
      assert.equal(one.status()?.bids, 1);
      assert.match(rejected?.reason ?? "", /^placementExists: .*gpu/);
      const key = bid?.orderId ?? "";
      const onChain = (await stage.queries.bid(one.bidOn(parseOrderId(key)))).value;
      assert.deepEqual(
        onChain?.offer.map(({ resources }) => resources?.gpu?.attributes),
        [[{ key: "vendor/nvidia/model/h100", value: "true" }]],
        "a real model is offered",
      );
      await stage.close(parseOrderId(key).dseq);
      const other = one.bidOn(parseOrderId(rejected?.orderId ?? ""));
      await stage.until("the other bid", async () => (await stage.queries.bid(other)).value?.state === "open");
    });
  });
}

/** These GPUs, with the attributes that sell them. */
function sellsOf(...here: GpuCount[]): Pick<ProviderParts, "gpuCounts" | "options"> {
  const attributes = here.map(({ gpu }) => ({
    key: `capabilities/gpu/vendor/nvidia/model/${gpu.model}`,
    value: "true",
  }));
  return { gpuCounts: here, options: { attributes } };
}

for (const [name, policy, model] of [
  ["the cheapest is offered", "{}", "t4"],
  ["one that the caps leave none of is left out", "caps: { gpu: { t4: 0 } }", "h100"],
  ["the only one within the caps is offered, at any price", "caps: { gpu: { t4: 0, h100: 0 } }", "a100"],
] as const) {
  test(`of the GPU models that an order accepts, ${name}`, async (t) => {
    const policies = join(temporaryFolder(t), "policies.yaml");
    writeFileSync(policies, policy);
    const prices: Record<string, string> = { a100: "30uact", h100: "20uact", t4: "10uact" };
    const pricing: Pricing = {
      ...fixedPricing(),
      quote: ({ offer: [unit] }) => {
        const price = parseDecCoin(prices[unit?.gpu.attributes[0]?.key.split("/")[3] ?? ""] ?? "");
        return { price, evidence: {} };
      },
    };
    await onBidStage(t, async (stage) => {
      const models = ["h100", "a100", "t4"];
      const one = await stage.provider("one", {
        ...sellsOf(...models.map((each) => gpuCount(each, 1n))),
        pricing,
        policies,
      });
      const order = await stage.post(1n, groupOfGpus(...models));
      await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict !== undefined);
      await stage.blocks(2);
      const bid = (await stage.queries.bid(one.bidOn(order))).value;
      const offered = bid?.offer.map(({ resources }) => resources?.gpu?.attributes[0]?.key);
      assert.deepEqual(offered, [`vendor/nvidia/model/${model}`], one.engine.orders(1)[0]?.reason);
      assert.equal(one.engine.orders(1)[0]?.price, prices[model]);
    });
  });
}

for (const [name, capped] of [
  ["of ten GPU models the last and cheapest is offered", 0],
  ["of ten GPU models the caps leave two, and the cheaper is offered", 8],
] as const) {
  test(name, async (t) => {
    const models = Array.from({ length: 10 }, (_, at) => `m${at}`);
    const policies = join(temporaryFolder(t), "policies.yaml");
    const caps = models.slice(0, capped).map((each) => `${each}: 0`);
    writeFileSync(policies, capped > 0 ? `caps: { gpu: { ${caps.join(", ")} } }` : "{}");
    const pricing: Pricing = {
      ...fixedPricing(),
      quote: ({ offer: [unit] }) => {
        const at = models.findIndex((each) => unit?.gpu.attributes[0]?.key.endsWith(each));
        return { price: parseDecCoin(`${100 - at}uact`), evidence: {} };
      },
    };
    await onBidStage(t, async (stage) => {
      const one = await stage.provider("one", {
        ...sellsOf(...models.map((each) => gpuCount(each, 1n))),
        pricing,
        policies,
      });
      await stage.post(1n, groupOfGpus(...models));
      await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict !== undefined);
      assert.equal(one.engine.orders(1)[0]?.price, "91uact", one.engine.orders(1)[0]?.reason);
    });
  });
}

test("units of one group get different GPU models where the caps leave too few of each for all", async (t) => {
  const policies = join(temporaryFolder(t), "policies.yaml");
  writeFileSync(policies, "caps: { gpu: { a100: 1 } }");
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { ...sellsOf(gpuCount("a100", 2n), gpuCount("h100", 1n)), policies });
    const group = groupOfGpus("a100", "h100");
    const order = await stage.post(1n, { ...group, units: group.units.flatMap((unit) => [unit, { ...unit, id: 2 }]) });
    await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict !== undefined);
    await stage.blocks(2);
    const bid = (await stage.queries.bid(one.bidOn(order))).value;
    const offered = bid?.offer.map(({ resources }) => resources?.gpu?.attributes[0]?.key.split("/")[3]);
    assert.deepEqual(offered?.sort(), ["a100", "h100"], one.engine.orders(1)[0]?.reason);
  });
});

test("while no IP address is free, an order that needs one is rejected with the reason; a free address brings the bid", async (t) => {
  await onBidStage(t, async (stage) => {
    let inUse = 4n;
    const ipOperator = { usage: async () => ({ total: 4n, inUse }), portsOf: async () => [] };
    const one = await stage.provider("one", { ipOperator });
    const leased = { kind: "leased-ip", sequenceNumber: 1 } as const;
    const units = smallGroup.units.map((unit) => ({ ...unit, endpoints: [...unit.endpoints, leased] }));
    const order = formatOrderId(await stage.post(1n, { ...smallGroup, units }));
    const decision = () => one.engine.orders(2).find(({ orderId }) => orderId === order);
    const full = /it requests 1 IP address, and 0 are free/;
    await stage.until("the reason", () => full.test(decision()?.reason ?? ""));
    await stage.post(2n);
    await stage.until("a bid without an address", () => one.status()?.bids === 1);
    assert.equal(decision()?.verdict, "no");
    inUse = 3n;
    await stage.until("a bid", () => decision()?.verdict === "bid" && one.status()?.bids === 2);
  });
});

test("an order that is decided on again is priced as a recheck", async (t) => {
  const rechecks: (boolean | undefined)[] = [];
  let changed: () => void = assert.fail;
  const pricing: Pricing = {
    ...fixedPricing("10001uact"),
    onChange: (listener) => {
      changed = listener;
    },
    quote: ({ isRecheck }) => {
      rechecks.push(isRecheck);
      return { price: parseDecCoin("10001uact"), evidence: {} };
    },
  };
  await onBidStage(t, async (stage) => {
    await stage.provider("one", { pricing });
    await stage.post(1n);
    await stage.until("a price", () => rechecks.length > 0);
    changed();
    await stage.until("a recheck", () => rechecks.length > 1);
    await stage.post(2n);
    await stage.until("a price for the new order", () => rechecks.length > 2);
    assert.deepEqual(rechecks, [false, true, false]);
  });
});

test("no more is sold than the caps say, and what is given back is sold again", async (t) => {
  const policies = join(temporaryFolder(t), "policies.yaml");
  writeFileSync(policies, "caps: { cpu: 1500m }");
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { cpuMilli: 10_000n, policies });
    await stage.postMany([1n, 2n], groupOfCpus(1_000n));
    await stage.until("a bid", () => one.status()?.bids === 1);
    await stage.blocks(5);
    assert.equal(one.status()?.bids, 1);
    const rejected = one.engine.orders(2).find(({ verdict }) => verdict === "no");
    assert.match(rejected?.reason ?? "", /withinOfferCaps.*at most 1500m, of which 1 is sold/);
    const bid = one.engine.orders(2).find(({ verdict }) => verdict === "bid");
    await stage.close(BigInt(bid?.orderId.split("/")[1] ?? ""));
    await stage.until("the other bid", () => one.engine.orders(2).every(({ verdict }) => verdict === "bid"));
  });
});

test("with four bidders, a lost bid's capacity is free within a block and every deposit home within three", async (t) => {
  await onBidStage(t, async (stage) => {
    const names = ["one", "two", "three", "four"];
    const providers = await Promise.all(names.map((name) => stage.provider(name)));
    const order = await stage.post(1n);
    const bids = providers.map((each) => each.bidOn(order));
    const states = async () => Promise.all(bids.map(async (bid) => (await stage.queries.bid(bid)).value?.state));
    await stage.until("four bids", async () => (await states()).every((state) => state === "open"));
    await stage.accept(bids[2] as BidId);
    const leasedAt = (await stage.queries.lease(bids[2] as BidId)).value?.createdAt ?? 0n;
    await stage.until("what the chain made of it", () => stage.node.height > leasedAt);
    const losers = providers.filter((_, index) => index !== 2);
    for (const loser of losers) {
      assert.equal(loser.freeMilli(), 10_000n, "free within one block");
    }
    await stage.until("three blocks", () => stage.node.height >= leasedAt + 3n);
    const after = await states();
    assert.equal(after[2], "active");
    assert.deepEqual([...after.filter((_, index) => index !== 2)].toSorted(), ["closed", "closed", "lost"]);
    await stage.until("their word", () => losers.every(({ engine }) => engine.orders(1)[0]?.outcome === "lost"));
    for (const loser of losers) assert.deepEqual(loser.status()?.deposits, []);
    assert.equal(providers[2]?.status()?.deposits[0]?.amount, 500_000n);
    assert.equal(providers[2]?.freeMilli(), 9_900n);
    // What became of the order is known to those who lost it.
    assert.equal(losers[0]?.engine.orders(1)[0]?.end?.winner, providers[2]?.signer.address);
    await stage.blocks(1);
    for (const { journal } of losers) {
      const intents = journal.read.intents.about(formatOrderId(order));
      assert.ok(intents.every(({ state }) => state === "done"));
    }
  });
});

test("bid not accepted in time → closed, and its capacity released when the chain has closed it", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { options: { bidTimeoutMs: 20_000 } });
    const order = await stage.post(1n);
    await stage.until("a bid", () => one.status()?.bids === 1);
    assert.equal(one.status()?.deposits[0]?.amount, 500_000n);
    await stage.until("its end", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "closed");
    await stage.blocks(1);
    assert.equal(one.engine.orders(1)[0]?.outcome, "timed out");
    assert.equal(one.freeMilli(), 10_000n);
    assert.deepEqual(one.status()?.deposits, []);
    await stage.blocks(30);
    const sent = one.journal.read.intents.about(formatOrderId(order)).map(({ what }) => what);
    assert.deepEqual(sent, ["closeBid", "createBid"], "the order is open, and the chain takes no second bid");
  });
});

test("an order that goes before its bid has left is not bid on", async (t) => {
  await onBidStage(t, async (stage) => {
    const price = Promise.withResolvers<void>();
    const pricing: Pricing = {
      ...fixedPricing(),
      async quote(request, signal) {
        await price.promise;
        return fixedPricing().quote(request, signal);
      },
    };
    const one = await stage.provider("one", { pricing });
    await stage.post(1n);
    await stage.blocks(2);
    await stage.close(1n);
    await stage.blocks(2);
    price.resolve();
    await stage.until("its end in the memory", () => one.engine.orders(1)[0]?.end?.how === "closed");
    assert.equal(one.chain.outbox.counts.owed, 0);
    assert.equal(one.freeMilli(), 10_000n);
    assert.equal(one.engine.orders(1)[0]?.outcome, undefined);
  });
});

test("while bidding is paused every no says so, and resuming bids on what is still open", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    await one.engine.pause("new disks");
    const order = await stage.post(1n);
    await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict === "no");
    assert.match(one.engine.orders(1)[0]?.reason ?? "", /biddingIsOn: bidding is paused since .*, new disks/);
    assert.equal(await one.engine.resume(), true);
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined);
    const [answer] = one.engine.why(formatOrderId(order));
    assert.deepEqual(
      answer?.decisions.map(({ verdict }) => verdict),
      ["bid", "no"],
    );
    assert.deepEqual(one.engine.why(`${order.owner}/1`), one.engine.why(formatOrderId(order)));
  });
});

test("a pause that is planned does not end one that holds, and does not count before its time", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    const laterMs = () => stage.clock.now() + 3_600_000;
    await one.engine.pause("a broken disk");
    await one.engine.pause("a new rack", laterMs());
    const order = await stage.post(1n);
    await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict !== undefined);
    assert.match(one.engine.orders(1)[0]?.reason ?? "", /^biddingIsOn: bidding is paused since .*, a new rack/);
    assert.match(one.detail(), /^paused: a new rack; /);
    await one.engine.resume();
    await one.engine.pause("a new rack", laterMs());
    assert.doesNotMatch(one.detail(), /^paused/);
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined);
  });
});

test("why says that the search limit was reached, and each time it was the order waits twice as long", async (t) => {
  const room = openRoom(cluster([sampleNode("one")]));
  const fit = ({ units }: GroupSpec) => place(room, units, { steps: 1 });
  await onBidStage(t, async (stage) => {
    const plant = ({ capacity, ...sound }: Sound) => ({ ...sound, capacity: Object.assign(capacity, { fit }) });
    const one = await stage.provider("one", { plant });
    const order = await stage.post(1n);
    await stage.until("the first decision", () => one.status()?.declined === 1);
    const [answer] = one.engine.why(formatOrderId(order));
    assert.equal(answer?.reason, "placementExists: search limit reached: no placement found in 1 steps");
    for (let second = 0; second < 200; second += 1) {
      one.feed.draw(1_000n + BigInt(second));
      await sleep(stage.clock, 1_000);
    }
    // After 2, 4, 8 seconds and so on. At most every 30 seconds, as other orders are, it would be ten.
    assert.ok(Number(one.status()?.declined) <= 8, `${one.status()?.declined} decisions`);
  });
});

test("an order that ends while it is priced is a no that says so, and counts as neither accepted nor declined", async (t) => {
  const requested = Promise.withResolvers<void>();
  const price = Promise.withResolvers<void>();
  const pricing: Pricing = {
    ...fixedPricing(),
    async quote() {
      requested.resolve();
      await price.promise;
      return { price: parseDecCoin("10uact"), evidence: {} };
    },
  };
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { pricing });
    const order = await stage.post(1n);
    await stage.until("the end", async () => {
      await requested.promise;
      return true;
    });
    await stage.close(1n);
    await stage.blocks(2);
    price.resolve();
    await stage.until("its end", () => one.engine.orders(1)[0]?.end?.how === "closed");
    const [why] = one.engine.why(formatOrderId(order));
    assert.deepEqual(
      [why?.verdict, why?.reason, why?.price, why?.sent],
      ["no", "priceGiven: the order ended while it was priced", undefined, []],
    );
    const { accepted, declined } = one.status() ?? {};
    assert.deepEqual([accepted, declined], [0, 0]);
  });
});

test("a unit of count 0 is bid on beside another, and no room is taken for it", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one");
    const { units } = groupOfCpus(1_000n);
    const order = await stage.post(1n, { ...smallGroup, units: units.flatMap((u) => [u, { ...u, id: 2, count: 0 }]) });
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value?.state === "open");
    assert.equal(one.freeMilli(), 9_000n);
    const bid = (await stage.queries.bid(one.bidOn(order))).value;
    assert.deepEqual(
      bid?.offer.map(({ count }) => count),
      [1, 0],
    );
  });
});

test("paused while a price is pending → no bid", async (t) => {
  await onBidStage(t, async (stage) => {
    const requested = Promise.withResolvers<void>();
    const price = Promise.withResolvers<void>();
    const pricing: Pricing = {
      ...fixedPricing(),
      async quote(request, signal) {
        requested.resolve();
        await price.promise;
        return fixedPricing().quote(request, signal);
      },
    };
    const one = await stage.provider("one", { pricing });
    const order = await stage.post(1n);
    await requested.promise;
    await one.engine.pause("new disks");
    price.resolve();
    await stage.until("a decision", () => one.engine.orders(1)[0]?.verdict !== undefined);
    assert.match(one.engine.orders(1)[0]?.reason ?? "", /^biddingIsOn/);
    await stage.blocks(5);
    assert.equal((await stage.queries.bid(one.bidOn(order))).value, undefined);
    await one.engine.resume();
    await stage.until("a bid", async () => (await stage.queries.bid(one.bidOn(order))).value !== undefined);
  });
});

test("an order of our own account is a no: the chain takes no bid on it", async (t) => {
  await onBidStage(t, async (stage) => {
    const own = await stage.provider("tenant");
    await stage.post(1n);
    await stage.until("a decision", () => own.engine.orders(1)[0]?.verdict !== undefined);
    assert.match(own.engine.orders(1)[0]?.reason ?? "", /^tenantAllowed: it is our own order/);
    await stage.blocks(3);
    assert.equal(own.journal.rows().intents, 0);
  });
});

test("order gone → its pending price is aborted", async (t) => {
  await onBidStage(t, async (stage) => {
    const signals: AbortSignal[] = [];
    const pricing: Pricing = {
      ...fixedPricing(),
      async quote(_, signal) {
        signals.push(signal);
        await untilAborted(signal);
        return { price: undefined, reason: reasonOf(signal.reason), evidence: {} };
      },
    };
    const one = await stage.provider("one", { pricing });
    await stage.postMany([1n, 2n]);
    await stage.until("both prices are pending", () => signals.length === 2);
    await stage.close(1n);
    await stage.blocks(2);
    assert.equal(signals.filter(({ aborted }) => aborted).length, 1);
    const [answer] = one.engine.why(`${stage.signer("tenant").address}/1`);
    assert.equal(answer?.reason, "priceGiven: the order ended while it was priced");
    assert.equal(answer?.end?.how, "closed");
  });
});

const many = runs(200, 5_000);

test(`${many} orders open at the start are bid on as far as there is room, and the others cost next to nothing`, async (t) => {
  await onBidStage(t, async (stage) => {
    await stage.postMany(Array.from({ length: many }, (_, index) => BigInt(index + 1)));
    const one = await stage.provider("one", { cpuMilli: BigInt(many / 4) * 100n });
    await stage.until("all decided", () => one.journal.rows().orders === many);
    await stage.until("the bids", () => one.status()?.bids === many / 4);
    await stage.blocks(30);
    assert.equal(one.status()?.waiting, many - many / 4);
    assert.equal(one.freeMilli(), 0n);
    const { decisions } = one.journal.rows();
    assert.ok(decisions <= 2 * many, "some before we knew what the chain has of us, each once after that");
    await stage.blocks(60);
    assert.equal(one.journal.rows().decisions, decisions, "the same no is not written down again");
    assert.equal(one.status()?.bids, many / 4);
  });
});
