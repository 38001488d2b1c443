import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryPaymentsRequest, QueryPaymentsResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import fc from "fast-check";
import {
  accountDeposit,
  bidId,
  closeBid,
  closeDeployment,
  closeLease,
  createBid,
  createDeployment,
  createLease,
  deploymentId,
  deposit,
  spec,
  withdrawLease,
} from "../../../../../test/support/market-messages.ts";
import { runs } from "../../../../../test/support/runs.ts";
import {
  type MarketStage,
  marketStage,
  namesOf,
  otherProvider,
  outcomeOf,
  provider,
  startMoney,
  tenant,
} from "../../../../../test/support/stages/market-stage.ts";
import { parseDecimal } from "../../../../market/decimal.ts";
import { bidAccount, deploymentAccount, leasePayment } from "../../../../market/escrow-arithmetic.ts";
import { moduleAddress } from "../auth/accounts.ts";
import { escrowAccounts, payments } from "./records.ts";

const escrow = moduleAddress("escrow");
const bidXid = `${tenant}/7/1/1/${provider}`;

const topUps: readonly [string, Parameters<typeof accountDeposit>[0], string][] = [
  ["the owner's", {}, "ok"],
  ["another account's", { signer: otherProvider }, "ok"],
  ["one in uakt, which may be added but not begun with", { deposit: deposit(1n, "uakt") }, "ok"],
  ["one to a bid", { scope: 2, xid: bidXid, deposit: deposit(1n, "uakt") }, "ok"],
  ["one of nothing", { deposit: deposit(0n, "uact") }, "escrow:16"],
  ["one of less than nothing", { deposit: deposit(-1n, "uact") }, "undefined:111222"],
  ["one beyond the balance", { deposit: deposit(startMoney, "uact") }, "undefined:1"],
  ["one without a grant", { deposit: deposit(1n, "uact", [2]) }, "undefined:1"],
  ["one from nowhere", { deposit: deposit(1n, "uact", []) }, "akash:4"],
  ["one from one source twice", { deposit: deposit(1n, "uact", [1, 1]) }, "akash:4"],
  ["one to a deployment that is not there", { xid: `${tenant}/8` }, "escrow:3"],
  ["one to a bid that is not there", { scope: 2, xid: bidXid.replace("/7/", "/8/") }, "escrow:3"],
  ["one without a scope", { scope: 0 }, "escrow:12"],
  ["one to half a name", { xid: tenant }, "escrow:12"],
  ["one to a bid by its deployment's name", { scope: 2 }, "escrow:12"],
  ["one to an owner that is no address", { xid: "akash1x/7" }, "escrow:12"],
  ["one to a number that is none", { xid: `${tenant}/seven` }, "escrow:12"],
  ["one to a number beyond 64 bits", { xid: `${tenant}/18446744073709551616` }, "escrow:12"],
];

for (const [what, parts, outcome] of topUps) {
  test(`money is added to an account: ${what} → ${outcome}`, () => {
    const stage = marketStage();
    stage.run(createDeployment());
    stage.run(createBid());
    assert.equal(
      outcomeOf(() => stage.run(accountDeposit(parts))),
      outcome,
    );
    stage.assertSupply();
  });
}

function leased(amount: string, first: bigint): MarketStage {
  const stage = marketStage();
  stage.run(createDeployment({ deposit: deposit(first, "uact") }));
  stage.run(createBid(bidId, { price: { denom: "uact", amount } }));
  stage.run(createLease());
  return stage;
}

test("everyone who gave money gets back what is left of it, the newest first to be left", () => {
  const stage = leased("1000", 500_000n);
  stage.run(accountDeposit({ signer: otherProvider, deposit: deposit(100_000n, "uact") }));
  stage.run(accountDeposit({ signer: otherProvider, deposit: deposit(77n, "uakt") }));
  stage.passBlocks(550n);
  stage.run(closeDeployment());
  assert.equal(stage.balance(provider, "uact"), startMoney + 550_000n);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 500_000n);
  assert.equal(stage.balance(otherProvider, "uact"), startMoney - 50_000n);
  assert.equal(stage.balance(otherProvider, "uakt"), startMoney);
  assert.equal(stage.balance(escrow, "uact") + stage.balance(escrow, "uakt"), 0n);
});

test("an account that could not pay any more is saved by money that comes before anyone settles it", () => {
  const stage = leased("1000", 500_000n);
  stage.passBlocks(600n);
  stage.run(accountDeposit({ deposit: deposit(200_000n, "uact") }));
  assert.deepEqual(namesOf(stage.run(withdrawLease())), []);
  assert.equal(stage.balance(provider, "uact"), startMoney + 600_000n);
});

test("money that comes after the account was overdrawn pays the debt, and the rest goes back at once", () => {
  const stage = leased("1000", 500_000n);
  stage.passBlocks(600n);
  stage.run(withdrawLease());
  const account = () => escrowAccounts(stage.context).get(deploymentAccount(deploymentId));
  const payment = () => payments(stage.context).get(leasePayment(bidId));
  assert.deepEqual([account()?.state, account()?.funds[0]?.amount], ["overdrawn", -100_000n]);
  assert.deepEqual([payment()?.state, payment()?.unsettled], ["overdrawn", 100_000n]);
  stage.passBlocks();
  stage.run(accountDeposit({ deposit: deposit(40_000n, "uact") }));
  assert.deepEqual([account()?.state, payment()?.unsettled], ["overdrawn", 60_000n]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 540_000n);
  stage.run(accountDeposit({ deposit: deposit(90_000n, "uact") }));
  assert.deepEqual([account()?.state, payment()?.state, payment()?.unsettled], ["closed", "closed", 0n]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 600_000n);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 600_000n);
  assert.equal(stage.balance(escrow, "uact"), 0n);
  assert.equal(
    outcomeOf(() => stage.run(accountDeposit())),
    "escrow:2",
  );
});

test("another denom does not pay the debt of an overdrawn account and goes straight back", () => {
  const stage = leased("1000", 500_000n);
  stage.passBlocks(600n);
  stage.run(withdrawLease());
  stage.run(accountDeposit({ signer: otherProvider, deposit: deposit(5n, "uakt") }));
  assert.equal(stage.balance(otherProvider, "uakt"), startMoney);
  assert.equal(escrowAccounts(stage.context).get(deploymentAccount(deploymentId))?.state, "overdrawn");
});

test("a lease is not created out of an account that can no longer pay the others", () => {
  const stage = marketStage();
  stage.run(createDeployment({ groups: [spec(), spec({ name: "second" })], deposit: deposit(500_000n, "uact") }));
  const second = { ...bidId, gseq: 2 };
  for (const id of [bidId, second]) stage.run(createBid(id, { price: { denom: "uact", amount: "1000" } }));
  stage.run(createLease());
  stage.passBlocks(501n);
  assert.equal(
    outcomeOf(() => stage.run(createLease(second))),
    "escrow:4",
  );
  stage.run(withdrawLease());
  assert.equal(
    outcomeOf(() => stage.run(createLease(second))),
    "market:12",
    "its bid has ended with the deployment",
  );
});

test("two leases of one deployment are paid out of one account, in the order of their names", () => {
  const stage = marketStage();
  stage.run(createDeployment({ groups: [spec(), spec({ name: "second" })], deposit: deposit(500_000n, "uact") }));
  const second = { ...bidId, gseq: 2, provider: otherProvider };
  for (const id of [bidId, second]) stage.run(createBid(id, { price: { denom: "uact", amount: "1000" } }));
  for (const id of [bidId, second]) stage.run(createLease(id));
  stage.passBlocks(10n);
  stage.run(withdrawLease());
  assert.equal(stage.balance(provider, "uact"), startMoney + 10_000n);
  assert.equal(stage.balance(otherProvider, "uact"), startMoney, "earned, but not withdrawn yet");
  assert.equal(payments(stage.context).get(leasePayment(second))?.balance, 10_000n);
  stage.passBlocks(245n);
  stage.run(withdrawLease(second));
  assert.equal(stage.balance(provider, "uact"), startMoney + 10_000n + 245_000n);
  assert.equal(stage.balance(otherProvider, "uact"), startMoney + 10_000n + 235_000n, "the last one gets what is left");
});

test("payments are listed page by page, those of one deployment and all of them alike", () => {
  const stage = marketStage();
  const groups = ["first", "second", "third"].map((name) => spec({ name }));
  stage.run(createDeployment({ groups, deposit: deposit(500_000n, "uact") }));
  const ids = [1, 2, 3].map((gseq) => ({ ...bidId, gseq }));
  for (const id of ids) stage.run(createBid(id));
  for (const id of ids) stage.run(createLease(id));
  for (const xid of ["", `deployment/${tenant}/7`, `deployment/${tenant}/7/`]) {
    const found: string[] = [];
    let key: Uint8Array | undefined = new Uint8Array();
    while (key) {
      const request = QueryPaymentsRequest.fromPartial({ xid, pagination: { key, limit: 1 } });
      const answer = stage.query("/akash.escrow.v1.Query/Payments", QueryPaymentsRequest.encode(request).finish());
      const page = QueryPaymentsResponse.decode(answer);
      found.push(...page.payments.map(({ id }) => id?.xid ?? ""));
      key = page.pagination?.nextKey.length ? page.pagination.nextKey : undefined;
    }
    assert.deepEqual(
      found,
      ids.map(({ gseq }) => `${gseq}/1/${provider}`),
      xid,
    );
  }
});

test("what a second lease's creation settles for the first is lost, as on the real chain", () => {
  const stage = marketStage();
  stage.run(createDeployment({ groups: [spec(), spec({ name: "second" })], deposit: deposit(500_000n, "uact") }));
  const second = { ...bidId, gseq: 2 };
  for (const id of [bidId, second]) stage.run(createBid(id, { price: { denom: "uact", amount: "1000" } }));
  stage.run(createLease());
  stage.passBlocks(3n);
  stage.run(createLease(second));
  stage.passBlocks();
  stage.run(closeDeployment());
  assert.equal(stage.balance(provider, "uact"), startMoney + 2_000n);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 5_000n);
  assert.equal(stage.balance(escrow, "uact"), 3_000n);
  stage.assertSupply();
});

test("a lease that ends in the block of its last settlement leaves its payment open, as on the real chain", () => {
  const stage = leased("1000", 500_000n);
  stage.passBlocks(2n);
  stage.run(withdrawLease());
  stage.run(closeBid());
  assert.equal(payments(stage.context).get(leasePayment(bidId))?.state, "open");
  assert.equal(escrowAccounts(stage.context).get(bidAccount(bidId))?.state, "closed");
  assert.equal(stage.balance(provider, "uact"), startMoney + 2_000n);
});

test("however often a provider withdraws, it gets the exact sum less at most one coin per settlement", () => {
  const pauses = fc.array(fc.bigInt(1n, 50n), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 9n), pauses, (micro, pauses) => {
      // A rate of micro / 10⁶, exactly.
      const rate = `${micro / 1_000_000n}.${(micro % 1_000_000n).toString().padStart(6, "0")}`;
      const stage = leased(rate, 500_000_000n);
      for (const pause of pauses.slice(1)) {
        stage.passBlocks(pause);
        stage.run(withdrawLease());
      }
      stage.passBlocks(pauses[0]);
      stage.run(closeLease());
      const got = stage.balance(provider, "uact") - startMoney;
      const blocks = pauses.reduce((sum, pause) => sum + pause, 0n);
      const lost = micro * blocks - got * 1_000_000n;
      assert.ok(lost >= 0n && lost < BigInt(pauses.length) * 1_000_000n, `${got} for ${blocks} blocks at ${rate}`);
      stage.run(closeDeployment());
      assert.equal(stage.balance(tenant, "uact"), startMoney - got);
      assert.equal(stage.balance(escrow, "uact"), 0n);
    }),
    { numRuns: runs(40, 3_000) },
  );
});

test("a lease whose uact ran dry goes on while uakt steps in, but is not settled again until the next deposit", () => {
  const stage = marketStage({ aktPriceWhileMintHalts: parseDecimal("2") });
  stage.run(createDeployment({ deposit: deposit(500_000n, "uact") }));
  stage.run(accountDeposit({ deposit: deposit(600_000n, "uakt") }));
  stage.run(createBid(bidId, { price: { denom: "uact", amount: "1000" } }));
  stage.run(createLease());
  const uakt = stage.balance(provider, "uakt");
  stage.passBlocks(700n);
  stage.run(withdrawLease());
  assert.equal(stage.balance(provider, "uact"), startMoney + 500_000n);
  assert.equal(stage.balance(provider, "uakt"), uakt + 100_000n, "200,000 uact were missing");
  const account = () => escrowAccounts(stage.context).get(deploymentAccount(deploymentId));
  assert.deepEqual([account()?.state, payments(stage.context).get(leasePayment(bidId))?.state], ["open", "open"]);
  stage.passBlocks(10n);
  stage.run(withdrawLease());
  assert.equal(stage.balance(provider, "uakt"), uakt + 100_000n, "the debt in the books stands in the way");
  stage.run(accountDeposit({ deposit: deposit(1_000_000n, "uact") }));
  stage.run(withdrawLease());
  assert.equal(stage.balance(provider, "uact"), startMoney + 510_000n);
  stage.run(closeDeployment());
  assert.equal(stage.balance(tenant, "uakt"), startMoney - 100_000n, "the uakt that was not needed is back");
  stage.assertSupply();
});

test("while uact is made, uakt of an account pays for nothing", () => {
  const stage = leased("1000", 500_000n);
  stage.run(accountDeposit({ deposit: deposit(600_000n, "uakt") }));
  stage.passBlocks(700n);
  const uakt = stage.balance(provider, "uakt");
  stage.run(withdrawLease());
  assert.equal(escrowAccounts(stage.context).get(deploymentAccount(deploymentId))?.state, "overdrawn");
  assert.equal(stage.balance(tenant, "uakt"), startMoney);
  assert.equal(stage.balance(provider, "uakt"), uakt + 500_000n, "only the deposit of its bid");
});
