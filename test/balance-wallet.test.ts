/** A wallet that runs low: nothing is bid, nothing fails for good, and all goes on by itself when there is money. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCoin, parseCoins } from "../src/market/coin.ts";
import { formatOrderId, type OrderId } from "../src/market/ids.ts";
import { type BiddingProvider, type BidStage, onBidStage } from "./bid-stage.ts";

const options = {
  bidDeposit: parseCoin("500000uact"),
  minimumBalance: parseCoins("1000000uakt"),
  fee: parseCoin("10000uakt"),
};

/** Leaves the provider with so much of it, less the fee of that; resolves with what fills it up again. */
async function drain(stage: BidStage, denom: string, left: bigint): Promise<() => Promise<void>> {
  const has = (await stage.queries.balances(stage.signer("one").address)).items.find((coin) => coin.denom === denom);
  const coin = `${(has?.amount ?? 0n) - left}${denom}`;
  if (denom === "uact") return stage.lock("one", 99n, coin);
  await stage.pay("one", "tenant", coin);
  return () => stage.pay("tenant", "one", coin);
}

const bidOpen = (stage: BidStage, one: BiddingProvider, order: OrderId) => async () =>
  (await stage.queries.bid(one.bidOn(order))).value?.state === "open";

for (const { what, denom, left, reason } of [
  {
    what: "deposits",
    denom: "uact",
    left: 499_999n,
    reason: "the wallet is 1uact short of the 500000uact for deposit and fee",
  },
  {
    what: "fees, beside what it keeps",
    denom: "uakt",
    left: 1_005_000n,
    reason: /^the wallet keeps 1000000uakt \(minimum-balance\) and has \d+uakt: \d+uakt short of the 10000uakt for/,
  },
]) {
  test(`a wallet without ${what} stops bidding with a reason, and starts again when funded`, async (t) => {
    await onBidStage(t, async (stage) => {
      const one = await stage.provider("one", { options });
      const first = await stage.post(1n);
      await stage.until("a bid", bidOpen(stage, one, first));
      const fill = await drain(stage, denom, left);
      const order = await stage.post(2n);
      const key = formatOrderId(order);
      await stage.until("a no", () => one.engine.order(key)?.verdict === "no");
      await stage.blocks(5);
      assert.equal(one.journal.read.intents.about(key).length, 0, "nothing was sent");
      const [answer] = one.engine.why(key);
      const refused = answer?.decisions[0]?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
      assert.deepEqual(
        refused.map(({ name }) => name),
        ["depositCovered"],
      );
      const told = refused[0]?.reason ?? "";
      if (typeof reason === "string") assert.equal(told, reason);
      else assert.match(told, reason);
      assert.equal(one.status()?.trouble, told, "status says why bidding stands still");
      assert.ok(one.detail().endsWith(told), one.detail());
      await fill();
      await stage.until("a bid", bidOpen(stage, one, order));
      assert.equal(one.status()?.trouble, undefined);
    });
  });
}
