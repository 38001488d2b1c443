import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bidId,
  closeBid,
  closeDeployment,
  closeLease,
  createBid,
  createDeployment,
  createLease,
  deposit,
  pauseGroup,
  spec,
  startGroup,
  startReclaim,
  withdrawLease,
} from "../../../../../test/support/market-messages.ts";
import {
  blockNs,
  type MarketStage,
  marketStage,
  namesOf,
  otherProvider,
  outcomeOf,
  provider,
  startMoney,
  tenant,
  thirdProvider,
} from "../../../../../test/support/stages/market-stage.ts";
import type { LeaseId } from "../../../../market/ids.ts";
import { findBid, findLease, findOrder } from "./records.ts";

const hourNs = 3_600_000_000_000n;

function leased(parts: Parameters<typeof createDeployment>[0] = {}, windowNs?: bigint): MarketStage {
  const stage = marketStage();
  stage.run(createDeployment(parts));
  stage.run(createBid(bidId, windowNs === undefined ? {} : { windowNs }));
  stage.run(createLease());
  return stage;
}

function statesOf(stage: MarketStage, id: LeaseId = bidId) {
  const { context } = stage;
  return [findOrder(context, id)?.state, findBid(context, id)?.state, findLease(context, id)?.state];
}

test("a tenant leases from an open bid on an open order of an open group, and from no other", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  assert.equal(
    outcomeOf(() => stage.run(createLease())),
    "market:18",
  );
  stage.run(createBid());
  stage.run(createBid({ ...bidId, provider: otherProvider }));
  assert.equal(
    outcomeOf(() => stage.run(createLease())),
    "ok",
  );
  assert.deepEqual(statesOf(stage), ["active", "active", "active"]);
  assert.equal(
    outcomeOf(() => stage.run(createLease())),
    "market:12",
  );
  assert.equal(
    outcomeOf(() => stage.run(createLease({ ...bidId, provider: otherProvider }))),
    "market:12",
  );
  stage.run(pauseGroup());
  assert.equal(
    outcomeOf(() => stage.run(createLease())),
    "market:12",
  );
});

test("of the losing bids the first by the provider's address is lost and refunded, the others stay open until closed", () => {
  const stage = marketStage();
  const bidders = [provider, otherProvider, thirdProvider];
  stage.run(createDeployment());
  // Not in their order, so that the order of the bids does not count.
  for (const bidder of bidders.toReversed()) stage.run(createBid({ ...bidId, provider: bidder }));
  stage.run(createLease({ ...bidId, provider: otherProvider }));
  const [first, later] = [bidId, { ...bidId, provider: thirdProvider }];
  const states = () => bidders.map((bidder) => findBid(stage.context, { ...bidId, provider: bidder })?.state);
  assert.deepEqual(states(), ["lost", "active", "open"]);
  assert.equal(stage.balance(provider, "uakt"), startMoney);
  assert.equal(
    outcomeOf(() => stage.run(closeBid(first))),
    "market:8",
  );
  assert.equal(stage.balance(thirdProvider, "uakt"), startMoney - 500_000n, "its deposit is locked");
  assert.deepEqual(namesOf(stage.run(closeBid(later))), ["EventBidClosed"]);
  assert.equal(stage.balance(thirdProvider, "uakt"), startMoney);
  assert.deepEqual(states(), ["lost", "active", "closed"]);
  assert.equal(findOrder(stage.context, bidId)?.state, "active");
});

test("losing bids that stayed open are closed and refunded with the deployment, but not with the lease alone", () => {
  const bids = [provider, otherProvider, thirdProvider].map((bidder) => ({ ...bidId, provider: bidder }));
  const endedBy = (message: Parameters<MarketStage["run"]>[0]) => {
    const stage = marketStage();
    stage.run(createDeployment());
    for (const id of bids) stage.run(createBid(id));
    stage.run(createLease());
    stage.passBlocks();
    stage.run(message);
    return [...bids.map((id) => findBid(stage.context, id)?.state), stage.balance(thirdProvider, "uakt")];
  };
  assert.deepEqual(endedBy(closeDeployment()), ["closed", "lost", "closed", startMoney]);
  assert.deepEqual(endedBy(closeLease()), ["closed", "lost", "open", startMoney - 500_000n]);
});

test("a provider closes an open bid and has its deposit back", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:6",
  );
  stage.run(createBid());
  assert.equal(
    outcomeOf(() => stage.run(closeBid(bidId, 9999))),
    "market:33",
  );
  assert.equal(
    outcomeOf(() => stage.run(closeBid(bidId, 20000))),
    "market:33",
  );
  assert.deepEqual(namesOf(stage.run(closeBid())), ["EventBidClosed"]);
  assert.deepEqual(statesOf(stage), ["open", "closed", undefined]);
  assert.equal(stage.balance(provider, "uakt"), startMoney);
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:8",
  );
});

test("a provider who closes an active bid ends the lease for its reason, is paid, and the group waits paused", () => {
  const stage = leased();
  stage.passBlocks(2n);
  const events = stage.run(closeBid(bidId, 10000));
  assert.deepEqual(namesOf(events), ["EventGroupPaused", "EventLeaseClosed", "EventBidClosed", "EventOrderClosed"]);
  const reason = events.find(({ type }) => type.endsWith("LeaseClosed"))?.attributes[1];
  assert.deepEqual([reason?.key, reason?.value], ["reason", '"lease_closed_reason_unstable"']);
  assert.deepEqual(statesOf(stage), ["closed", "closed", "closed"]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 50n);
  assert.equal(stage.balance(provider, "uakt"), startMoney);
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:10",
  );
  assert.deepEqual(namesOf(stage.run(startGroup())), ["EventGroupStarted", "EventOrderCreated"]);
});

test("a reason without a name is written as its number", () => {
  const stage = leased();
  stage.passBlocks();
  const closed = stage.run(closeBid(bidId, 12345)).find(({ type }) => type.endsWith("LeaseClosed"));
  assert.equal(closed?.attributes[1]?.value, "12345");
});

test("a tenant who closes a lease gets the next order at once", () => {
  const stage = leased();
  stage.passBlocks(2n);
  const events = stage.run(closeLease());
  assert.deepEqual(namesOf(events), ["EventLeaseClosed", "EventBidClosed", "EventOrderClosed", "EventOrderCreated"]);
  assert.match(events.at(-1)?.attributes[0]?.value ?? "", /"oseq":2/);
  assert.deepEqual(statesOf(stage), ["closed", "closed", "closed"]);
  assert.deepEqual(statesOf(stage, { ...bidId, oseq: 2 }), ["open", undefined, undefined]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 50n);
  assert.equal(
    outcomeOf(() => stage.run(closeLease())),
    "market:24",
  );
  assert.equal(
    outcomeOf(() => stage.run(closeLease({ ...bidId, oseq: 3 }))),
    "market:15",
  );
  assert.equal(
    outcomeOf(() => stage.run(closeLease({ ...bidId, oseq: 0 }))),
    "sdk:3",
  );
});

test("a lease that is not there is not closed, withdrawn or reclaimed", () => {
  const stage = leased();
  const otherBid = { ...bidId, provider: otherProvider };
  assert.equal(
    outcomeOf(() => stage.run(closeLease(otherBid))),
    "market:18",
  );
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease(otherBid))),
    "market:7",
  );
  assert.equal(
    outcomeOf(() => stage.run(startReclaim(otherBid))),
    "market:7",
  );
});

test("a lease without a window cannot be reclaimed", () => {
  assert.equal(
    outcomeOf(() => leased().run(startReclaim())),
    "market:35",
  );
});

test("a reclaimable lease is announced first, and closed by its provider when the window has passed", () => {
  const stage = leased({ minWindowNs: hourNs }, 2n * hourNs);
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:37",
  );
  assert.equal(
    outcomeOf(() => stage.run(startReclaim(bidId, 1))),
    "market:33",
  );
  const [started] = stage.run(startReclaim());
  const deadline = (stage.context.timeNs + 2n * hourNs) / 1_000_000_000n;
  assert.equal(started?.type, "akash.market.v1.EventLeaseReclaimStarted");
  assert.deepEqual(
    started?.attributes.map(({ key, value }) => [key, value]),
    [
      ["deadline", `"${deadline}"`],
      ["id", JSON.stringify({ ...bidId, dseq: "7" })],
      ["reason", '"lease_closed_reason_decommission"'],
    ],
  );
  assert.deepEqual(findLease(stage.context, bidId)?.reclamation, {
    windowNs: 2n * hourNs,
    startedAt: stage.context.height,
    deadline,
    reason: 10001,
  });
  assert.deepEqual(statesOf(stage), ["active", "active", "reclaiming"]);
  assert.equal(
    outcomeOf(() => stage.run(startReclaim())),
    "market:10",
  );
  stage.passBlocks((2n * hourNs) / blockNs - 1n);
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:38",
  );
  stage.passBlocks();
  assert.deepEqual(statesOf(stage), ["active", "active", "reclaiming"], "nothing closes it by itself");
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "ok",
  );
  assert.deepEqual(statesOf(stage), ["closed", "closed", "closed"]);
});

test("a lease that is being reclaimed is still paid, and its tenant may close it at any time", () => {
  const stage = leased({ minWindowNs: hourNs }, hourNs);
  stage.run(startReclaim());
  stage.passBlocks(4n);
  stage.run(withdrawLease());
  assert.equal(stage.balance(provider, "uact"), startMoney + 100n);
  assert.equal(
    outcomeOf(() => stage.run(closeLease())),
    "ok",
  );
  assert.deepEqual(findOrder(stage.context, { ...bidId, oseq: 2 })?.reclamation, { minWindowNs: hourNs });
});

test("a group that is started again demands what its deployment demanded", () => {
  const stage = leased({ minWindowNs: hourNs }, hourNs);
  stage.run(pauseGroup());
  stage.run(startGroup());
  assert.deepEqual(findOrder(stage.context, { ...bidId, oseq: 2 })?.reclamation, { minWindowNs: hourNs });
});

test("a provider withdraws once per block: the second time the chain's program stumbles, as it does right after the lease", () => {
  const stage = leased();
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease())),
    "undefined:111222",
  );
  stage.passBlocks();
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease())),
    "ok",
  );
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease())),
    "undefined:111222",
  );
  stage.passBlocks();
  stage.run(closeLease());
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease())),
    "escrow:7",
  );
});

test("a lease whose escrow has run dry is ended by the next withdrawal, and events carry the reason", () => {
  const stage = leased({ deposit: deposit(500_000n, "uact"), groups: [spec()] });
  const blocks = 19_873n; // 500,000 / 25.1605, and one more
  stage.passBlocks(blocks);
  assert.deepEqual(statesOf(stage), ["active", "active", "active"], "nothing ends it by itself");
  const events = stage.run(withdrawLease());
  assert.deepEqual(namesOf(events), [
    "EventDeploymentClosed",
    "EventGroupClosed",
    "EventOrderClosed",
    "EventBidClosed",
    "EventLeaseClosed",
  ]);
  assert.deepEqual(statesOf(stage), ["closed", "closed", "insufficient_funds"]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 500_000n);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 500_000n);
  assert.equal(
    outcomeOf(() => stage.run(closeDeployment())),
    "deployment:5",
  );
  assert.equal(
    outcomeOf(() => stage.run(withdrawLease())),
    "escrow:7",
  );
});

test("switched on, a dry lease is ended by the block itself, in the first block that it cannot pay", () => {
  const stage = marketStage({ closeDryLeasesInEndBlock: true });
  stage.run(createDeployment({ deposit: deposit(500_000n, "uact") }));
  stage.run(createBid(bidId, { price: { denom: "uact", amount: "1000" } }));
  stage.run(createLease());
  assert.deepEqual(namesOf(stage.passBlocks(501n)), [], "500 blocks are paid for");
  assert.deepEqual(namesOf(stage.passBlocks()), [
    "EventDeploymentClosed",
    "EventGroupClosed",
    "EventOrderClosed",
    "EventBidClosed",
    "EventLeaseClosed",
  ]);
  assert.deepEqual(statesOf(stage), ["closed", "closed", "insufficient_funds"]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 500_000n);
  assert.deepEqual(namesOf(stage.passBlocks()), []);
});
