/** A market where everyone does whatever comes to mind: no coin is made or lost, and the books agree with each other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Context } from "../../src/box/chain/module.ts";
import { moduleAddress } from "../../src/box/chain/modules/auth/accounts.ts";
import { escrowAccounts, payments } from "../../src/box/chain/modules/escrow/records.ts";
import {
  type Bid,
  bids,
  bidsOf,
  findBid,
  findOrder,
  leases,
  type Order,
  orders,
  ordersOf,
} from "../../src/box/chain/modules/market/records.ts";
import type { Address } from "../../src/market/address.ts";
import { bidAccount, leasePayment } from "../../src/market/escrow-arithmetic.ts";
import { type BidId, type GroupId, groupOf } from "../../src/market/ids.ts";
import type { Random } from "../../src/runtime/random.ts";
import * as messages from "../support/market-messages.ts";
import { runs } from "../support/runs.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type MarketStage, type Message, marketStage, outcomeOf, person } from "../support/stages/market-stage.ts";

const tenants = [person(1), person(2), person(3)];
const bidders = [person(11), person(12), person(13), person(14)];
const escrow = moduleAddress("escrow");
const hourNs = 3_600_000_000_000n;

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random.int(list.length)] as T;
}

/** The newest order of each group of the last few deployments, in one of these states. */
function recentOrders(context: Context, newest: ReadonlyMap<Address, bigint>, state: Order["state"]): Order[] {
  return [...newest].flatMap(([owner, last]) =>
    Array.from({ length: 5 }, (_, index) => last - BigInt(index)).flatMap((dseq) =>
      [1, 2].flatMap((gseq) => {
        const order = ordersOf(context, { owner, dseq, gseq }).at(-1);
        return order?.state === state ? [order] : [];
      }),
    ),
  );
}

/** One that exists if any does; now and then one that does not. */
function someBid(
  random: Random,
  context: Context,
  newest: ReadonlyMap<Address, bigint>,
  ...states: Bid["state"][]
): BidId {
  const orderState = states.includes("active") ? "active" : "open";
  const recent = recentOrders(context, newest, orderState);
  const order = recent.length > 0 ? pick(random, recent) : undefined;
  const found = order ? bidsOf(context, order.id, ...states) : [];
  if (found.length > 0 && random.int(10) > 0) return pick(random, found).id;
  const id = order?.id ?? { owner: pick(random, tenants), dseq: 1n, gseq: 1, oseq: 1 };
  return { ...id, provider: pick(random, bidders), bseq: 0 };
}

function someRate(random: Random): { denom: string; amount: string } {
  const fraction = String(random.int(10 ** 9)).padStart(9, "0");
  return { denom: "uact", amount: `${random.int(random.int(3) === 0 ? 90_000 : 40)}.${fraction}` };
}

function newDeployment(random: Random, newest: Map<Address, bigint>): Message {
  const owner = pick(random, tenants);
  const dseq = (newest.get(owner) ?? 0n) + 1n;
  newest.set(owner, dseq);
  const names = random.int(3) === 0 ? ["first", "second"] : ["first"];
  const groups = names.map((name) => messages.spec({ name, resources: [messages.unit(1, "1000000")] }));
  const deposit = messages.deposit(500_000n + BigInt(random.int(100_000)), "uact");
  return messages.createDeployment({ id: { owner, dseq }, groups, deposit });
}

function newBid(random: Random, id: BidId): Message {
  const deposit = messages.deposit(500_000n, pick(random, ["uakt", "uact"]));
  const window = random.int(3) === 0 ? { windowNs: hourNs } : {};
  return messages.createBid(
    { ...id, provider: pick(random, bidders) },
    { price: someRate(random), deposit, ...window },
  );
}

function topUp(random: Random, { owner, dseq }: BidId): Message {
  const deposit = messages.deposit(BigInt(1 + random.int(100_000)), pick(random, ["uact", "uact", "uakt"]));
  return messages.accountDeposit({ signer: pick(random, bidders), xid: `${owner}/${dseq}`, deposit });
}

function somethingToDo(random: Random, context: Context, newest: Map<Address, bigint>): Message {
  const open = () => someBid(random, context, newest, "open");
  const active = () => someBid(random, context, newest, "active");
  const actions: readonly (() => Message)[] = [
    () => newDeployment(random, newest),
    () => newBid(random, open()),
    () => newBid(random, open()),
    () => newBid(random, open()),
    () => messages.createLease(open()),
    () => messages.createLease(open()),
    () => messages.withdrawLease(active()),
    () => topUp(random, active()),
    () => messages.closeBid(pick(random, [open, active])()),
    () => messages.startReclaim(active()),
    () => messages.closeLease(active()),
    () => messages.pauseGroup(active()),
    () => messages.startGroup(pick(random, recentGroups(context, newest))),
    () => messages.closeGroup(pick(random, [open, active])()),
    () => messages.closeDeployment(active()),
  ];
  return pick(random, actions)();
}

function recentGroups(context: Context, newest: ReadonlyMap<Address, bigint>): GroupId[] {
  const closed = recentOrders(context, newest, "closed").map(({ id }) => groupOf(id));
  return closed.length > 0 ? closed : [{ owner: tenants[0] as Address, dseq: 1n, gseq: 1 }];
}

/** Money that escrow holds without an owner: only what is settled while a further lease is created. */
function unnamed(context: Context, stage: MarketStage, denom: string): bigint {
  let named = 0n;
  for (const [, { deposits }] of escrowAccounts(context).entries()) {
    for (const { balance } of deposits) if (balance.denom === denom) named += balance.amount;
  }
  for (const [, { rate, balance }] of payments(context).entries()) if (rate.denom === denom) named += balance;
  return stage.balance(escrow, denom) - named;
}

function checkStates(context: Context): void {
  const running = new Set<string>();
  for (const [, order] of orders(context).entries()) {
    if (order.state === "closed") continue;
    const group = JSON.stringify({ ...groupOf(order.id), dseq: order.id.dseq.toString() });
    assert.ok(!running.has(group), `two orders of ${group} run at once`);
    running.add(group);
  }
  for (const [, bid] of bids(context).entries()) {
    const running = bid.state === "open" || bid.state === "active";
    assert.equal(escrowAccounts(context).get(bidAccount(bid.id))?.state, running ? "open" : "closed");
    if (bid.state === "active") assert.equal(findOrder(context, bid.id)?.state, "active");
  }
  for (const [, lease] of leases(context).entries()) {
    const runs = lease.state === "active" || lease.state === "reclaiming";
    assert.equal(findBid(context, lease.id)?.state, runs ? "active" : "closed");
    if (runs) assert.equal(payments(context).get(leasePayment(lease.id))?.state, "open");
  }
}

for (const seed of [1, 3, 4]) {
  test(`over many random blocks no coin is made or lost and the books agree (seed ${seed})`, () => {
    const random = createSeededRandom(seed);
    const stage = marketStage({
      people: [...tenants, ...bidders],
      registered: bidders,
      closeDryLeasesInEndBlock: seed === 3,
    });
    const newest = new Map<Address, bigint>();
    const done = new Map<string, number>();
    let lost = 0n;
    const blocks = runs(500, 10_000);
    for (let block = 1; block <= blocks; block++) {
      for (let count = random.int(6); count > 0; count--) {
        const message = somethingToDo(random, stage.context, newest);
        const outcome = outcomeOf(() => stage.run(message));
        const what = `${message.typeUrl.split(".").at(-1)} ${outcome}`;
        done.set(what, (done.get(what) ?? 0) + 1);
      }
      // Now and then a long pause, so that some accounts run dry.
      stage.passBlocks(random.int(20) === 0 ? 50n : 1n);
      stage.assertSupply();
      if (block % 100 !== 0) continue;
      const before = lost;
      lost = unnamed(stage.context, stage, "uact");
      assert.ok(lost >= before, "ownerless money is not reduced");
      assert.equal(unnamed(stage.context, stage, "uakt"), 0n);
      checkStates(stage.context);
    }
    const kinds = [
      "MsgCreateDeployment",
      "MsgCreateBid",
      "MsgCreateLease",
      "MsgWithdrawLease",
      "MsgCloseBid",
      "MsgCloseLease",
    ];
    for (const kind of kinds) assert.ok(done.get(`${kind} ok`), `${kind} never worked in this run`);
    const states = new Set([...leases(stage.context).entries()].map(([, { state }]) => state));
    assert.ok(states.has("insufficient_funds"), "no account ever ran dry");
  });
}
