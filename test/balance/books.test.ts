/** The books of a whole provider against the chain: its wallet, its leases, the deposits of its bids. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { BidID, Scope, Source } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { BalanceOptions } from "../../src/balance/balance-status.ts";
import { booksDebtsEveryMs } from "../../src/balance/bookkeeper.ts";
import { writeId } from "../../src/chain/codec/wire-messages.ts";
import { type RpcRequest, type RpcTransport, unreachable } from "../../src/chain/comet/transport.ts";
import { fundDeployment, packMessage } from "../../src/chain/tx/messages.ts";
import { sendMessages } from "../../src/chain/tx/send.ts";
import type { LedgerKind } from "../../src/journal/ledger.ts";
import { parseCoin } from "../../src/market/coin.ts";
import { type BidId, formatBidId, formatOrderId, type OrderId } from "../../src/market/ids.ts";
import { sendSettings } from "../support/outbox-run.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import {
  type BiddingProvider,
  type BidStage,
  fixedPricing,
  onBidStage,
  smallGroup,
} from "../support/stages/bid-stage.ts";

const balance: BalanceOptions = {
  ...{ minimumBalance: [], warnBalance: [], threshold: [], fee: undefined },
  ...{ intervalMs: 600_000, periodMs: 0 },
};

async function walletOf({ queries, signer }: BidStage): Promise<Map<string, bigint>> {
  const { items } = await queries.balances(signer("one").address);
  return new Map(items.map(({ denom, amount }) => [denom, amount]));
}

/** What came into the wallet and what left it since then is what the books say, in every denomination. */
async function checkWallet(stage: BidStage, { journal }: BiddingProvider, before: Map<string, bigint>): Promise<void> {
  const totals = journal.read.ledger.totals();
  const now = await walletOf(stage);
  for (const [denom, had] of before) {
    const sum = (kind: LedgerKind) => totals.find((each) => each.kind === kind && each.denom === denom)?.amount ?? 0n;
    const gained = sum("withdrawn") + sum("refund") - sum("fee") - sum("deposit");
    assert.equal(gained, (now.get(denom) ?? 0n) - had, denom);
  }
  const lines = journal.read.ledger.after(0, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, 10_000);
  for (const { kind, denom, amount } of totals) {
    const ofKind = lines.filter((line) => line.kind === kind && line.denom === denom);
    assert.equal(
      ofKind.reduce((sum, line) => sum + line.amount, 0n),
      amount,
    );
  }
}

async function checkLease({ queries }: BidStage, { journal }: BiddingProvider, id: BidId): Promise<void> {
  const payment = (await queries.lease(id)).value?.payment;
  const row = journal.read.payments.get(formatBidId(id));
  assert.ok(payment && row?.ended);
  assert.equal(row.withdrawn, payment.withdrawn.amount);
  assert.equal(row.accrued, row.withdrawn);
  assert.equal(row.ended.how, payment.state);
}

/** A node that does not answer such requests. */
function withFault({ node }: BidStage, isFaulty: (request: RpcRequest) => boolean): RpcTransport {
  const sound = node.transport();
  const send: RpcTransport["send"] = (request, bounds) =>
    isFaulty(request) ? Promise.reject(unreachable(sound.name, "connection reset")) : sound.send(request, bounds);
  return { ...sound, send };
}

const hasBid = ({ journal }: BiddingProvider, bid: BidId) => journal.read.deposits.get(formatBidId(bid)) !== undefined;

const kindsAbout = ({ journal }: BiddingProvider, order: OrderId) =>
  journal.read.ledger
    .about(formatOrderId(order), 99)
    .map(({ kind }) => kind)
    .reverse();

test("what the wallet gained is what the books say, whatever became of the bids", async (t) => {
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { balance });
    const before = await walletOf(stage);
    const orders = [await stage.post(1n), await stage.post(2n), await stage.post(3n)] as const;
    const bids = orders.map(one.bidOn) as [BidId, BidId, BidId];
    await stage.until("three deposits are out", () => bids.every((bid) => hasBid(one, bid)));
    await stage.accept(bids[0]);
    await stage.rivalBid("two", orders[1]);
    await stage.accept({ ...bids[1], provider: stage.signer("two").address });
    await stage.close(3n);
    await stage.blocks(20);
    await checkWallet(stage, one, before);
    await stage.close(1n);
    await stage.until("all are home", () => one.journal.read.deposits.all().length === 0);
    await checkWallet(stage, one, before);
    await checkLease(stage, one, bids[0]);
    for (const order of orders) {
      const kinds = kindsAbout(one, order).filter((kind) => kind !== "fee");
      assert.deepEqual(kinds, ["deposit", "refund"]);
      assert.equal(kindsAbout(one, order).includes("fee"), true);
    }
  });
});

/** Two bids are out when the provider stops; one is won and its lease ends, the other is lost, before it is back. */
async function endsWhileAway(t: TestContext, awayBlocks: number, keepBlocks?: number): Promise<void> {
  const play = async (stage: BidStage) => {
    const first = await stage.provider("one", { balance });
    const before = await walletOf(stage);
    const orders = [await stage.post(1n), await stage.post(2n)] as const;
    const bids = orders.map(first.bidOn) as [BidId, BidId];
    await stage.until("both deposits are out", () => bids.every((bid) => hasBid(first, bid)));
    await first.stop();
    await stage.accept(bids[0]);
    await stage.blocks(10);
    await stage.close(1n);
    await stage.close(2n);
    await stage.blocks(awayBlocks);
    const again = await stage.provider("one", { balance });
    await stage.until("both are home", () => again.journal.read.deposits.all().length === 0);
    await stage.until("the lease is booked", () => again.journal.read.payments.get(formatBidId(bids[0])) !== undefined);
    await checkWallet(stage, again, before);
    await checkLease(stage, again, bids[0]);
  };
  await onBidStage(t, play, keepBlocks === undefined ? {} : { keepBlocks });
}

test("a lease that came and ended while the provider was away is in the books when it is back", (t) =>
  endsWhileAway(t, 5));

test("so is one whose blocks no node has any more", (t) => endsWhileAway(t, 60, 20));

test("so is one whose bid came to the chain when the provider was gone already", async (t) => {
  await onBidStage(t, async (stage) => {
    let isSent = false;
    const isFaulty = ({ method }: RpcRequest) => {
      const wasSent = isSent;
      if (method.startsWith("broadcast")) isSent = true;
      return wasSent;
    };
    const first = await stage.provider("one", { balance, nodes: () => [withFault(stage, isFaulty)] });
    const before = await walletOf(stage);
    const bid = first.bidOn(await stage.post(1n));
    await stage.until("the bid is on its way", async () => (await stage.queries.bid(bid)).value !== undefined);
    assert.equal(hasBid(first, bid), false);
    await first.stop();
    await stage.accept(bid);
    await stage.blocks(10);
    await stage.close(1n);
    const again = await stage.provider("one", { balance });
    await stage.until("the lease is booked", () => again.journal.read.payments.get(formatBidId(bid)) !== undefined);
    await stage.until("the bid is settled", () => again.chain.outbox.counts.owed === 0);
    await checkWallet(stage, again, before);
    await checkLease(stage, again, bid);
  });
});

test("deposits of others into the escrow of our bid are not booked", async (t) => {
  await onBidStage(t, async (stage) => {
    const first = await stage.provider("one");
    const bid = first.bidOn(await stage.post(1n));
    await stage.until("the bid is there", () => first.chain.mirror.bid(bid) !== undefined);
    const { clock, node } = stage;
    const deps = { chainId: node.chainId, chain: first.chain.broadcaster, settings: sendSettings, clock };
    const otherProvider = { signer: stage.signer("two"), random: createSeededRandom(3) };
    const message = packMessage("deposit", {
      signer: otherProvider.signer.address,
      id: { scope: Scope.bid, xid: formatBidId(bid) },
      deposit: { amount: { denom: "uakt", amount: "77" }, sources: [Source.balance] },
    });
    await sendMessages({ ...deps, ...otherProvider }, [message]);
    await first.stop();
    const again = await stage.provider("one", { balance });
    await stage.until("its deposit is booked", () => hasBid(again, bid));
    const opened = again.journal.read.deposits.get(formatBidId(bid));
    assert.deepEqual([opened?.denom, opened?.amount], ["uakt", 500_000n]);
  });
});

test("a deposit that was out before the books began is in them from their beginning", async (t) => {
  await onBidStage(t, async (stage) => {
    const first = await stage.provider("one");
    const order = await stage.post(1n);
    const bid = first.bidOn(order);
    await stage.until("the bid is there", () => first.chain.mirror.bid(bid) !== undefined);
    assert.equal(hasBid(first, bid), false);
    await first.stop();
    const again = await stage.provider("one", { balance });
    await stage.until("its deposit is booked", () => hasBid(again, bid));
    await stage.close(1n);
    await stage.until("it is home", () => !hasBid(again, bid));
    assert.deepEqual(
      kindsAbout(again, order).filter((kind) => kind !== "fee"),
      ["deposit", "refund"],
    );
  });
});

test("what ends while no node answers, in blocks that are lost then, is booked when one is back", async (t) => {
  const play = async (stage: BidStage) => {
    let away = false;
    const nodes = () => [withFault(stage, () => away)];
    const one = await stage.provider("one", { balance, nodes });
    const before = await walletOf(stage);
    const bids = [one.bidOn(await stage.post(1n)), one.bidOn(await stage.post(2n))] as const;
    await stage.until("both deposits are out", () => bids.every((bid) => hasBid(one, bid)));
    await stage.accept(bids[0]);
    const row = () => one.journal.read.payments.get(formatBidId(bids[0]));
    await stage.until("its lease is in the books", () => row() !== undefined);
    away = true;
    await stage.close(1n);
    await stage.close(2n);
    await stage.blocks(60);
    assert.equal(row()?.ended, undefined, "a missing answer is no end");
    away = false;
    await stage.until("both are home", () => one.journal.read.deposits.all().length === 0);
    await stage.until("the lease has ended", () => row()?.ended !== undefined);
    await checkWallet(stage, one, before);
    await checkLease(stage, one, bids[0]);
  };
  await onBidStage(t, play, { keepBlocks: 20 });
});

test("so is a lease that came and ended in such blocks", async (t) => {
  const play = async (stage: BidStage) => {
    let away = false;
    const one = await stage.provider("one", { balance, nodes: () => [withFault(stage, () => away)] });
    const before = await walletOf(stage);
    const bid = one.bidOn(await stage.post(1n));
    await stage.until("its deposit is out", () => hasBid(one, bid));
    away = true;
    await stage.accept(bid);
    await stage.blocks(10);
    await stage.close(1n);
    await stage.blocks(60);
    away = false;
    await stage.until("the lease is booked", () => one.journal.read.payments.get(formatBidId(bid)) !== undefined);
    await stage.until("its deposit is home", () => one.journal.read.deposits.all().length === 0);
    await checkWallet(stage, one, before);
    await checkLease(stage, one, bid);
  };
  await onBidStage(t, play, { keepBlocks: 20 });
});

test("so is one whose bid came to the chain in such blocks, too", async (t) => {
  const play = async (stage: BidStage) => {
    let away = false;
    const isFaulty = ({ method }: RpcRequest) => {
      const wasAway = away;
      if (method.startsWith("broadcast")) away = true;
      return wasAway;
    };
    const one = await stage.provider("one", { balance, nodes: () => [withFault(stage, isFaulty)] });
    const bid = one.bidOn(await stage.post(1n));
    await stage.until("the bid is on its way", async () => (await stage.queries.bid(bid)).value !== undefined);
    await stage.accept(bid);
    await stage.blocks(10);
    await stage.close(1n);
    await stage.blocks(60);
    away = false;
    await stage.until("the lease is booked", () => one.journal.read.payments.get(formatBidId(bid)) !== undefined);
    await checkLease(stage, one, bid);
  };
  await onBidStage(t, play, { keepBlocks: 20 });
});

test("what cannot be read at the start is booked as soon as a node answers", async (t) => {
  await onBidStage(t, async (stage) => {
    const first = await stage.provider("one", { balance });
    const before = await walletOf(stage);
    const order = await stage.post(1n);
    const bid = first.bidOn(order);
    await stage.until("its deposit is out", () => hasBid(first, bid));
    await first.stop();
    await stage.close(1n);
    let silent = true;
    let queryCount = 0;
    const isFaulty = ({ text }: RpcRequest) => {
      const isIt = silent && text.includes('v1beta5.Query/Bid"');
      if (isIt) queryCount += 1;
      return isIt;
    };
    const nodes = () => [withFault(stage, isFaulty)];
    const again = await stage.provider("one", { balance, nodes });
    await stage.until("failed queries", () => queryCount > 3);
    assert.equal(hasBid(again, bid), true, "a missing answer is no proof");
    silent = false;
    await stage.until("it is home", () => !hasBid(again, bid));
    await checkWallet(stage, again, before);
  });
});

test("debt that is paid after a lease was closed for lack of funds is booked", async (t) => {
  const group = {
    ...smallGroup,
    units: smallGroup.units.map((unit) => ({ ...unit, price: { ...unit.price, amount: { atto: 10n ** 25n } } })),
  };
  await onBidStage(t, async (stage) => {
    const one = await stage.provider("one", { balance, pricing: fixedPricing("1000000uact") });
    const before = await walletOf(stage);
    const bid = one.bidOn(await stage.post(1n, group));
    await stage.until("its deposit is out", () => hasBid(one, bid));
    await stage.accept(bid);
    await stage.blocks(9);
    const message = packMessage("withdrawLease", { id: BidID.fromPartial(writeId(bid)) });
    await one.chain.outbox.file({ subject: formatBidId(bid), why: "spent", message, priority: "close" });
    const row = () => one.journal.read.payments.get(formatBidId(bid));
    await stage.until("it is overdrawn", () => row()?.ended?.how === "overdrawn");
    assert.equal(row()?.withdrawn, 5_000_000n);
    await checkWallet(stage, one, before);
    const { clock, node } = stage;
    const deps = { chainId: node.chainId, chain: one.chain.broadcaster, settings: sendSettings, clock };
    const tenant = { signer: stage.signer("tenant"), random: createSeededRandom(3) };
    await sendMessages({ ...deps, ...tenant }, [fundDeployment(bid, parseCoin("100000000uact"))]);
    await stage.blocks(booksDebtsEveryMs / 1_000);
    await stage.until("the debt is paid", () => row()?.ended?.how === "closed");
    assert.ok((row()?.withdrawn ?? 0n) > 5_000_000n);
    await checkWallet(stage, one, before);
    await checkLease(stage, one, bid);
  });
});
