/** Escrows that are spent: a settling withdrawal ends the lease, by a reading made for it, whatever the nodes do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCoin } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { type EscrowLife, type EscrowStage, setUpEscrows } from "./escrow-stage.ts";

const minute = 60_000;
const hour = 60 * minute;

/** All that was ever filed, by what it is. */
function filed({ journal }: EscrowLife): string[] {
  return [...Array(200).keys()].flatMap((id) => journal.read.intents.get(id)?.what ?? []);
}

async function oneLease(stage: EscrowStage, ...args: Parameters<EscrowStage["lease"]>): Promise<LeaseId> {
  const [lease] = await stage.lease(...args);
  assert.ok(lease);
  return lease;
}

for (const { who, prices } of [
  { who: "our lease", prices: [["us", "1000uact"]] },
  {
    who: "another provider's lease",
    prices: [
      ["us", "1uact"],
      ["other", "999uact"],
    ],
  },
] as const) {
  test(`an escrow that ${who} has spent is settled by a withdrawal, which ends the lease`, async (t) => {
    const stage = await setUpEscrows(t);
    const lease = await oneLease(stage, 1n, "20000uact", ...prices);
    const life = await stage.start();
    const messages: unknown[] = [];
    for (const topic of ["akash.provider.balance.escrow", "akash.provider.balance.withdrawal"] as const) {
      life.bus.subscribe(topic, ({ data }) => void messages.push(data));
    }
    await stage.blocks(19);
    assert.deepEqual([await stage.state(lease), filed(life)], ["active", []]);
    await stage.blocks(6);
    assert.equal(await stage.state(lease), "insufficient_funds");
    assert.deepEqual(filed(life), ["withdrawLease"], "never a message that closes a bid");
    assert.match(life.withdrawals()[0]?.why ?? "", /the escrow is spent since height \d+: settling it ends the lease/);
    const states = messages.map((each) => (each as { state: string }).state);
    assert.deepEqual(
      states.filter((state) => state !== "soon"),
      ["spent", "done"],
    );
    await stage.blocks(20, minute);
    assert.equal(filed(life).length, 1, "a lease that has ended is left alone");
  });
}

test("an escrow that outlasts all heights of the chain keeps no other from being settled", async (t) => {
  const stage = await setUpEscrows(t);
  const lasting = await oneLease(stage, 1n, "20000uact", ["us", "0.000000000000000001uact"]);
  const lease = await oneLease(stage, 2n, "20000uact", ["us", "1000uact"]);
  const life = await stage.start();
  await stage.blocks(26);
  assert.deepEqual([await stage.state(lasting), await stage.state(lease)], ["active", "insufficient_funds"]);
  assert.equal(life.journal.read.payments.get(formatLeaseId(lasting))?.spentAt, undefined);
});

test("a deposit in time keeps the lease, and nothing is filed", async (t) => {
  const stage = await setUpEscrows(t);
  const lease = await oneLease(stage, 1n, "20000uact", ["us", "1000uact"]);
  const life = await stage.start();
  await stage.blocks(10);
  // A deposit emits no event: the read before the close shows it.
  await stage.topUp(1n, "1000000uact");
  await stage.blocks(30);
  assert.deepEqual([await stage.state(lease), filed(life)], ["active", []]);
});

test("another provider's new lease on the same deployment is included at once", async (t) => {
  const stage = await setUpEscrows(t);
  const lease = await oneLease(stage, 1n, "200000uact", ["us", "1uact"], ["other", "9000uact", "later"]);
  const life = await stage.start({ options: { intervalMs: 24 * hour } });
  await stage.blocks(10);
  await stage.leaseLater(1n);
  await stage.blocks(28);
  assert.equal(await stage.state(lease), "insufficient_funds");
  assert.deepEqual(filed(life), ["withdrawLease"]);
});

test("where the chain itself ends what can no longer be paid, nothing is filed", async (t) => {
  const stage = await setUpEscrows(t, { closeDryLeasesInEndBlock: true });
  const lease = await oneLease(stage, 1n, "20000uact", ["us", "1000uact"]);
  const life = await stage.start();
  await stage.blocks(25);
  assert.deepEqual([await stage.state(lease), filed(life)], ["insufficient_funds", []]);
});

test("an escrow that a settlement cannot end is not settled again and again", async (t) => {
  // While the chain makes no uact, uakt pays in its place: the account owes, and its leases run on.
  const stage = await setUpEscrows(t, { aktPriceWhileMintHalts: parseDecimal("2") });
  const lease = await oneLease(stage, 1n, "20000uact", ["us", "1000uact"]);
  await stage.topUp(1n, "1000000uakt");
  let life = await stage.start({ options: { fee: parseCoin("5000uakt") } });
  await stage.blocks(30);
  assert.equal(await stage.state(lease), "active");
  assert.equal(life.withdrawals().length, 1);
  await stage.blocks(8, minute);
  assert.equal(life.withdrawals().length, 1, "the second waits ten minutes");
  await life.stop();
  life = await stage.start();
  await stage.blocks(5, minute);
  assert.equal(life.withdrawals().length, 2, "also after a restart");
  await stage.blocks(15, minute);
  assert.equal(life.withdrawals().length, 2, "the third twenty");
  await stage.blocks(6, minute);
  assert.equal(life.withdrawals().length, 3);
});

for (const restarts of [false, true]) {
  const how = restarts ? ", and the provider is started anew with it" : "";
  test(`an hour without the chain closes no lease; due settlements follow in their order${how}`, async (t) => {
    const stage = await setUpEscrows(t);
    const leases: LeaseId[] = [];
    for (const [index, blocks] of [60, 20, 40].entries()) {
      leases.push(await oneLease(stage, BigInt(index + 1), `${(blocks + 12) * 1000}uact`, ["us", "1000uact"]));
    }
    const kept = await oneLease(stage, 9n, "40000uact", ["us", "1000uact"]);
    let life = await stage.start();
    await stage.blocks(2);
    stage.isAway = true;
    await stage.blocks(75, 50_000);
    assert.deepEqual(filed(life), []);
    for (const lease of [...leases, kept]) assert.equal(await stage.state(lease), "active");
    await stage.topUp(9n, "9000000uact");
    if (restarts) await life.stop();
    stage.isAway = false;
    if (restarts) life = await stage.start();
    else await stage.clock.advance(2 * minute);
    await stage.blocks(3);
    for (const lease of leases) assert.equal(await stage.state(lease), "insufficient_funds");
    assert.equal(await stage.state(kept), "active", "its tenant paid while we could not look");
    assert.deepEqual(
      life.withdrawals().map(({ subject }) => subject),
      [leases[1], leases[2], leases[0]].map((lease) => formatLeaseId(lease as LeaseId)),
    );
    assert.deepEqual(new Set(filed(life)), new Set(["withdrawLease"]));
  });
}

test("failing reads of escrows back off, also while blocks arrive", async (t) => {
  const stage = await setUpEscrows(t);
  const lease = await oneLease(stage, 1n, "20000uact", ["us", "1000uact"]);
  await stage.start();
  let failures = 0;
  stage.onQuery = (question) => {
    if (!question.includes("akash.escrow.v1.Query/Payments")) return;
    failures += 1;
    throw new Error("out of memory");
  };
  // It is spent since about the twentieth; every round tries three times.
  await stage.blocks(80);
  assert.ok(failures > 3 && failures <= 3 * 12, `${failures}`);
  stage.onQuery = () => undefined;
  await stage.blocks(14);
  assert.equal(await stage.state(lease), "insufficient_funds");
});

test("an unreadable escrow does not keep others from being settled, and is read again", async (t) => {
  const stage = await setUpEscrows(t);
  const odd = await oneLease(stage, 7n, "20000uact", ["us", "1000uact"]);
  const lease = await oneLease(stage, 2n, "20000uact", ["us", "1000uact"]);
  const life = await stage.start({ options: { intervalMs: 2 * minute } });
  const path = Buffer.from(`/${odd.dseq}`).toString("hex");
  stage.onQuery = (question) => {
    if (question.includes("escrow.v1.Query/Payments") && question.includes(path)) throw new Error("panic");
  };
  await stage.blocks(40);
  assert.deepEqual([await stage.state(odd), await stage.state(lease)], ["active", "insufficient_funds"]);
  stage.onQuery = () => undefined;
  await stage.blocks(25);
  assert.equal(await stage.state(odd), "insufficient_funds");
  assert.equal(life.withdrawals().length, 2);
});
