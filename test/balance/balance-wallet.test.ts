/** A wallet that runs low: nothing is bid, nothing fails for good, and all goes on by itself when there is money. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BalanceOptions } from "../../src/balance/balance-status.ts";
import { bidIntentMs } from "../../src/bidengine/bidding.ts";
import type { JsonObject } from "../../src/bus/topics.ts";
import { isUnderWay } from "../../src/journal/intents.ts";
import { amountOf, parseCoin, parseCoins } from "../../src/market/coin.ts";
import { formatLeaseId, formatOrderId, type OrderId } from "../../src/market/ids.ts";
import {
  type BiddingProvider,
  type BidStage,
  fixedPricing,
  onBidStage,
  type ProviderParts,
} from "../support/stages/bid-stage.ts";

const minimumBalance = parseCoins("1000000uakt");
const balance: BalanceOptions = {
  ...{ minimumBalance, warnBalance: parseCoins("5000000uakt"), threshold: parseCoins("100000uact") },
  ...{ intervalMs: 60_000, periodMs: 0, fee: parseCoin("10000uakt") },
};
const options = { bidDeposit: parseCoin("500000uact"), minimumBalance, fee: parseCoin("10000uakt") };

/** Of what the provider has; what it holds in the end may be less by the fee of giving it away. */
async function drain(stage: BidStage, denom: string, left: bigint): Promise<void> {
  const has = amountOf((await stage.queries.balances(stage.signer("one").address)).items, denom);
  const coin = `${has - left}${denom}`;
  if (denom === "uact") await stage.lock("one", 99n, coin);
  else await stage.pay("one", "tenant", coin);
}

const isBidOn = (stage: BidStage, one: BiddingProvider, order: OrderId) => async () =>
  (await stage.queries.bid(one.bidOn(order))).value?.state === "open";

async function leaseOf(stage: BidStage, one: BiddingProvider, dseq: bigint): Promise<string> {
  const bid = one.bidOn(await stage.post(dseq));
  await stage.until("a bid", isBidOn(stage, one, bid));
  await stage.accept(bid);
  return formatLeaseId(bid);
}

/** It says why it does not bid, in the decision and in its status. */
async function saysNo(stage: BidStage, one: BiddingProvider, order: OrderId, reason: RegExp): Promise<void> {
  const key = formatOrderId(order);
  await stage.until("a no", () => one.engine.order(key)?.verdict === "no");
  assert.equal(one.journal.read.intents.about(key).length, 0, "nothing was sent");
  const failed = one.engine.why(key)[0]?.decisions[0]?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
  assert.deepEqual(
    failed.map(({ name }) => name),
    ["depositCovered"],
  );
  assert.match(failed[0]?.reason ?? "", reason);
  await stage.until("the error", () => one.status()?.trouble !== undefined);
  assert.match(one.status()?.trouble ?? "", reason, "status says why bidding stands still");
  assert.match(one.detail(), reason);
}

const lowOf = (one: BiddingProvider, wanted: string) =>
  one.balance()?.wallet.find(({ denom }) => denom === wanted)?.low ?? "";

test("of many orders at once as many are bid on as the wallet has deposits and fees for, and what it keeps stays in it", async (t) => {
  await onBidStage(t, async (stage) => {
    await stage.register("one");
    // Three bids, and a fourth deposit, but not the fees of all four.
    await drain(stage, "uakt", 1_000_000n + 4n * 510_000n - 23_000n);
    const bidding = { ...options, bidDeposit: parseCoin("500000uakt") };
    const one = await stage.provider("one", { options: bidding, balance: { ...balance, warnBalance: [] } });
    const lows: JsonObject[] = [];
    one.bus.subscribe("akash.provider.balance.low", ({ data }) => void lows.push(data));
    await stage.postMany([1n, 2n, 3n, 4n]);
    await stage.until("the bids", () => one.status()?.bids === 3);
    await stage.blocks(5);
    assert.equal(one.status()?.bids, 3);
    const left = () => one.balance()?.wallet.find(({ denom }) => denom === "uakt")?.amount ?? 0n;
    assert.ok(left() >= 1_000_000n, `${left()}`);
    const low = { denom: "uakt", threshold: "bid", low: true };
    assert.deepEqual(lows, [low]);
    await stage.pay("tenant", "one", "800000uakt");
    await stage.until("the last bid", () => one.status()?.bids === 4);
    await stage.blocks(3);
    assert.deepEqual(lows, [low, { ...low, low: false }], "a deposit that is paid is not promised any more");
    assert.ok(left() < 2_010_000n && left() >= 1_510_000n, `${left()}`);
  });
});

test("without money for fees what waits for it fails in nothing, also over a restart, and all goes on when it comes", async (t) => {
  await onBidStage(t, async (stage) => {
    const parts: ProviderParts = {
      options: { ...options, bidTimeoutMs: 20_000 },
      pricing: fixedPricing("9000uact"),
      balance,
    };
    let one = await stage.provider("one", parts);
    const lease = await leaseOf(stage, one, 1n);
    const second = await stage.post(2n);
    await stage.until("a bid", isBidOn(stage, one, second));
    await drain(stage, "uakt", 5_500n);
    const third = await stage.post(3n);
    const reason = /the wallet keeps 1000000uakt \(minimum-balance\) and has \d{1,4}uakt$/;
    await saysNo(stage, one, third, reason);
    assert.match(lowOf(one, "uakt"), /^99\d{4}uakt below minimum-balance, nothing is bid$/);

    const { about } = one.journal.read.intents;
    const isDue = () => isUnderWay(about(formatOrderId(second))[0]) && isUnderWay(about(lease)[0]);
    await stage.until("a close and a withdrawal", isDue);
    const due = one.journal.read.intents.unsettled(9).map(({ id, what }) => ({ id, what }));
    assert.deepEqual(due.map(({ what }) => what).sort(), ["closeBid", "withdrawLease"]);
    const states = () => due.map(({ id }) => one.journal.read.intents.get(id)?.state);
    const wait = async () => {
      await stage.blocks(30);
      const intents = due.map(({ id }) => one.journal.read.intents.get(id));
      assert.ok(intents.every(isUnderWay), `${states()}`);
      assert.equal(one.balance()?.withdrawals.waiting, 1);
    };
    await wait();
    await one.stop();
    one = await stage.provider("one", parts);
    await wait();
    await saysNo(stage, one, third, reason);

    const lows: JsonObject[] = [];
    one.bus.subscribe("akash.provider.balance.low", ({ data }) => void lows.push(data));
    await stage.pay("tenant", "one", "9000000uakt");
    await stage.until("the bid", isBidOn(stage, one, third));
    await stage.until("the others", () => states().every((state) => state === "done"));
    assert.equal(one.status()?.trouble, undefined);
    assert.equal(lowOf(one, "uakt"), "");
    assert.deepEqual(
      lows,
      ["minimum", "bid", "warn"].map((threshold) => ({ denom: "uakt", threshold, low: false })),
    );
  });
});

test("without money for deposits nothing is bid, also after a restart, until earnings have are refunded", async (t) => {
  await onBidStage(t, async (stage) => {
    const parts: ProviderParts = { options, pricing: fixedPricing("9000uact"), balance };
    let one = await stage.provider("one", parts);
    await leaseOf(stage, one, 1n);
    await drain(stage, "uact", 0n);
    const second = await stage.post(2n);
    const reason = /the wallet is \d+uact short of the 500000uact for deposit and fee$/;
    await saysNo(stage, one, second, reason);
    assert.equal(lowOf(one, "uact"), "500000uact short of the next bid, nothing is bid");
    await one.stop();
    one = await stage.provider("one", parts);
    await saysNo(stage, one, second, reason);
    await stage.until("the bid", isBidOn(stage, one, second));
    assert.ok((one.balance()?.withdrawals.done ?? 0) > 0, "what the lease had earned paid for it");
  });
});

test("a bid that was filed and cannot be paid is made when there is money, however long that takes", async (t) => {
  const play = async (stage: BidStage) => {
    // No reserve for fees, so that the bid is filed although it cannot be sent.
    const parts = { options: { ...options, minimumBalance: [], fee: undefined }, balance };
    const one = await stage.provider("one", parts);
    await drain(stage, "uakt", 5_500n);
    const order = await stage.post(1n);
    const bids = () => one.journal.read.intents.about(formatOrderId(order));
    await stage.blocks(Math.ceil(bidIntentMs / 30_000));
    await stage.until("it has waited too long", () => bids().length === 2);
    await stage.pay("tenant", "one", "9000000uakt");
    await stage.until("the bid", isBidOn(stage, one, order));
    assert.deepEqual(
      bids().map(({ state }) => state),
      ["done", "expired"],
    );
  };
  await onBidStage(t, play, { blockMs: 30_000 });
});
