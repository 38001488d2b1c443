/** One deployment from its first deposit to its last refund, to the micro-unit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryAccountsResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { moduleAddress } from "../../src/box/chain/modules/auth/accounts.ts";
import {
  queryBidsResponse,
  queryDeploymentsResponse,
  queryLeasesResponse,
} from "../../src/chain/codec/wire-messages.ts";
import {
  accountDeposit,
  bidId,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  hash,
  updateDeployment,
  withdrawLease,
} from "../support/market-messages.ts";
import { marketStage, namesOf, otherProvider, provider, startMoney, tenant } from "../support/stages/market-stage.ts";

const escrow = moduleAddress("escrow");

test("a deployment is created, bid on, leased, paid, topped up, updated and closed, and every coin is accounted for", () => {
  const stage = marketStage();

  const created = stage.run(createDeployment());
  assert.deepEqual(namesOf(created), ["EventDeploymentCreated", "EventOrderCreated"]);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 5_000_000n);
  assert.equal(stage.balance(escrow, "uact"), 5_000_000n);

  stage.passBlocks();
  for (const bidder of [provider, otherProvider]) {
    assert.deepEqual(namesOf(stage.run(createBid({ ...bidId, provider: bidder }))), ["EventBidCreated"]);
    assert.equal(stage.balance(bidder, "uakt"), startMoney - 500_000n);
  }

  stage.passBlocks();
  assert.deepEqual(namesOf(stage.run(createLease())), ["EventLeaseCreated"]);
  assert.equal(stage.balance(otherProvider, "uakt"), startMoney, "the loser has its deposit back");
  assert.equal(stage.balance(provider, "uakt"), startMoney - 500_000n, "the winner's stays until the lease ends");
  const bids = queryBidsResponse.decode(stage.query("/akash.market.v1beta5.Query/Bids")).bids;
  assert.deepEqual(
    bids.map(({ bid, escrowAccount }) => [bid?.id?.provider, bid?.state, escrowAccount?.state?.state]),
    [
      [provider, 2, 1],
      [otherProvider, 3, 2],
    ],
  );

  stage.passBlocks(10n);
  assert.deepEqual(namesOf(stage.run(withdrawLease())), []);
  assert.equal(stage.balance(provider, "uact"), startMoney + 251n, "10 × 25.1605, without the fraction");

  stage.passBlocks();
  stage.run(accountDeposit());
  assert.equal(stage.balance(escrow, "uact"), 5_000_000n - 251n + 1_000_000n);

  const changed = new Uint8Array(32).fill(2);
  const updated = stage.run(updateDeployment(changed));
  assert.deepEqual(namesOf(updated), ["EventDeploymentUpdated"]);
  assert.deepEqual(
    updated[0]?.attributes.map(({ key, value }) => [key, value]),
    [
      ["hash", JSON.stringify(Buffer.from(changed).toString("base64"))],
      ["id", JSON.stringify({ owner: tenant, dseq: "7" })],
    ],
  );

  stage.passBlocks(2n);
  const closed = stage.run(closeDeployment());
  assert.deepEqual(namesOf(closed), [
    "EventDeploymentClosed",
    "EventGroupClosed",
    "EventOrderClosed",
    "EventBidClosed",
    "EventLeaseClosed",
  ]);
  assert.equal(stage.balance(provider, "uact"), startMoney + 251n + 75n, "3 × 25.1605 since the withdrawal");
  assert.equal(stage.balance(provider, "uakt"), startMoney);
  assert.equal(stage.balance(tenant, "uact"), startMoney - 251n - 75n);
  assert.equal(stage.balance(escrow, "uact"), 0n);
  assert.equal(stage.balance(escrow, "uakt"), 0n);
  stage.assertSupply();

  const { deployments } = queryDeploymentsResponse.decode(stage.query("/akash.deployment.v1beta4.Query/Deployments"));
  assert.deepEqual(deployments[0]?.deployment?.hash, changed);
  assert.notDeepEqual(changed, hash);
  assert.deepEqual([deployments[0]?.deployment?.state, deployments[0]?.groups[0]?.state], [2, 4]);
  assert.deepEqual(deployments[0]?.escrowAccount?.state?.transferred, [{ denom: "uact", amount: "326" }]);
  const [lease] = queryLeasesResponse.decode(stage.query("/akash.market.v1beta5.Query/Leases")).leases;
  assert.deepEqual([lease?.lease?.state, lease?.lease?.reason], [3, 1]);
  assert.deepEqual(lease?.escrowPayment?.state?.withdrawn, { denom: "uact", amount: "326" });
  const { accounts } = QueryAccountsResponse.decode(stage.query("/akash.escrow.v1.Query/Accounts"));
  assert.equal(accounts.length, 3);
});
