import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MsgCloseGroup,
  QueryGroupRequest,
  QueryGroupResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  accountDeposit,
  bidId,
  closeBid,
  closeDeployment,
  closeGroup,
  createBid,
  createDeployment,
  createLease,
  deploymentId,
  deposit,
  digits,
  groupId,
  orderId,
  pauseGroup,
  spec,
  startGroup,
  unit,
  updateDeployment,
} from "../../../../../test/support/market-messages.ts";
import {
  type MarketStage,
  marketStage,
  namesOf,
  outcomeOf,
  startMoney,
  tenant,
} from "../../../../../test/support/stages/market-stage.ts";
import { writeId } from "../../../../chain/codec/wire-messages.ts";

const hourNs = 3_600_000_000_000n;
const mebi = 2 ** 20;
const tebi = 2n ** 40n;

function changedUnit(change: (resource: ReturnType<typeof unit>["resource"]) => object) {
  const plain = unit(1);
  return [spec({ resources: [{ ...plain, resource: { ...plain.resource, ...change(plain.resource) } }] })];
}

const attribute = { key: "class", value: "beta3" };

/** What the message is, and what comes of it. */
const creations: readonly [string, Parameters<typeof createDeployment>[0], string][] = [
  ["one with two groups", { groups: [spec(), spec({ name: "other" })] }, "ok"],
  ["one with the largest number", { id: { owner: tenant, dseq: 2n ** 64n - 1n } }, "ok"],
  ["one without a number", { id: { owner: tenant, dseq: 0n } }, "sdk:3"],
  ["one whose owner is no address", { id: { owner: "akash1nobody" as typeof tenant, dseq: 1n } }, "sdk:7"],
  ["one without groups", { groups: [] }, "deployment:7"],
  ["one without a hash", { hash: new Uint8Array() }, "deployment:9"],
  ["one with a short hash", { hash: new Uint8Array(31) }, "deployment:10"],
  ["one with a long hash", { hash: new Uint8Array(33) }, "deployment:10"],

  ["a deposit below the minimum", { deposit: deposit(499_999n, "uact") }, "deployment:20"],
  ["a deposit of the minimum", { deposit: deposit(500_000n, "uact") }, "ok"],
  ["a deposit in another denom than the price", { deposit: deposit(5_000_000n, "uakt") }, "deployment:20"],
  ["a deposit of nothing", { deposit: deposit(0n, "uact") }, "deployment:20"],
  ["a negative deposit", { deposit: deposit(-1n, "uact") }, "undefined:1"],
  ["a deposit in a denom that is none", { deposit: deposit(1n, "u") }, "undefined:1"],
  ["a deposit from nowhere", { deposit: deposit(5_000_000n, "uact", []) }, "akash:4"],
  ["a deposit from an unknown source", { deposit: deposit(5_000_000n, "uact", [3]) }, "akash:4"],
  ["a deposit from one source twice", { deposit: deposit(5_000_000n, "uact", [1, 1]) }, "akash:4"],
  ["a deposit beyond the balance", { deposit: deposit(startMoney + 1n, "uact") }, "undefined:1"],
  ["a deposit without a grant", { deposit: deposit(5_000_000n, "uact", [2]) }, "undefined:1"],
  ["a deposit from grant or balance", { deposit: deposit(5_000_000n, "uact", [2, 1]) }, "ok"],
  ["a deposit that does not fit into 64 bits", { deposit: deposit(2n ** 63n, "uact") }, "undefined:111222"],

  [
    "a price in uakt",
    { groups: [spec({ resources: [unit(1, "1", "uakt")] })], deposit: deposit(5_000_000n, "uakt") },
    "deployment:20",
  ],
  [
    "a price in a denom that no deposit may have",
    { groups: [spec({ resources: [unit(1, "1", "ufoo")] })], deposit: deposit(5n, "ufoo") },
    "undefined:1",
  ],
  ["a price in no denom", { groups: [spec({ resources: [unit(1, "1", "")] })] }, "undefined:1"],
  ["a negative price", { groups: [spec({ resources: [unit(1, "-1")] })] }, "undefined:1"],
  ["the highest price", { groups: [spec({ resources: [unit(1, "10000000")] })] }, "ok"],
  ["a price above the highest", { groups: [spec({ resources: [unit(1, "10000000.1")] })] }, "undefined:1"],
  ["units in two denoms", { groups: [spec({ resources: [unit(1), unit(2, "1", "uakt")] })] }, "undefined:1"],
  ["two groups of one name", { groups: [spec(), spec()] }, "deployment:7"],
  ["a group without a name", { groups: [spec({ name: "" })] }, "undefined:1"],
  ["a group without units", { groups: [spec({ resources: [] })] }, "undefined:1"],

  ["a unit without an id", { groups: [spec({ resources: [unit(0)] })] }, "undefined:1"],
  ["two units of one id", { groups: [spec({ resources: [unit(1), unit(1)] })] }, "undefined:1"],
  ["a unit with a count of zero", { groups: [spec({ resources: [{ ...unit(1), count: 0 }] })] }, "undefined:1"],
  ["too little cpu", { groups: changedUnit(() => ({ cpu: { units: digits(9), attributes: [] } })) }, "undefined:1"],
  ["the least cpu", { groups: changedUnit(() => ({ cpu: { units: digits(10), attributes: [] } })) }, "ok"],
  ["the most cpu", { groups: changedUnit(() => ({ cpu: { units: digits(384_000), attributes: [] } })) }, "ok"],
  ["too much cpu", { groups: changedUnit(() => ({ cpu: { units: digits(384_001), attributes: [] } })) }, "undefined:1"],
  ["no cpu at all", { groups: changedUnit(() => ({ cpu: undefined })) }, "undefined:1"],
  [
    "cpu that is not a number",
    { groups: changedUnit(() => ({ cpu: { units: {}, attributes: [] } })) },
    "undefined:111222",
  ],
  [
    "too little memory",
    { groups: changedUnit(() => ({ memory: { quantity: digits(mebi - 1), attributes: [] } })) },
    "undefined:1",
  ],
  [
    "too much memory",
    { groups: changedUnit(() => ({ memory: { quantity: digits(2n * tebi + 1n), attributes: [] } })) },
    "undefined:1",
  ],
  [
    "too little storage",
    { groups: changedUnit(() => ({ storage: [{ name: "a", quantity: digits(5 * mebi - 1) }] })) },
    "undefined:1",
  ],
  [
    "too much storage",
    { groups: changedUnit(() => ({ storage: [{ name: "a", quantity: digits(32n * tebi + 1n) }] })) },
    "undefined:1",
  ],
  ["no storage", { groups: changedUnit(() => ({ storage: [] })) }, "undefined:1"],
  ["no mention of a gpu", { groups: changedUnit(() => ({ gpu: undefined })) }, "undefined:1"],
  ["too many gpus", { groups: changedUnit(() => ({ gpu: { units: digits(25), attributes: [] } })) }, "undefined:1"],
  [
    "attributes of no gpu",
    { groups: changedUnit(() => ({ gpu: { units: digits(0), attributes: [attribute] } })) },
    "undefined:1",
  ],
  [
    "an attribute that is named twice",
    { groups: changedUnit(() => ({ cpu: { units: digits(50), attributes: [attribute, attribute] } })) },
    "undefined:1",
  ],
  [
    "an attribute whose name is too short",
    { groups: changedUnit(() => ({ cpu: { units: digits(50), attributes: [{ key: "a", value: "" }] } })) },
    "undefined:1",
  ],
  [
    "51 of the largest unit",
    {
      groups: [
        spec({
          resources: [
            {
              ...unit(1),
              count: 51,
              resource: { ...unit(1).resource, cpu: { units: digits(384_000), attributes: [] } },
            },
          ],
        }),
      ],
    },
    "undefined:1",
  ],

  ["a demand for the shortest window", { minWindowNs: hourNs }, "ok"],
  ["a demand for a window that is too short", { minWindowNs: hourNs - 1n }, "deployment:26"],
  ["a demand for a window that is too long", { minWindowNs: 720n * hourNs + 1n }, "deployment:26"],
  ["a demand for a negative window", { minWindowNs: -1n }, "deployment:26"],
];

for (const [what, parts, outcome] of creations) {
  test(`a deployment is created: ${what} → ${outcome}`, () => {
    const stage = marketStage();
    assert.equal(
      outcomeOf(() => stage.run(createDeployment(parts))),
      outcome,
    );
    stage.assertSupply();
  });
}

test("a deployment's number is used once, even after it was closed", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  assert.equal(
    outcomeOf(() => stage.run(createDeployment())),
    "deployment:3",
  );
  stage.run(closeDeployment());
  assert.equal(
    outcomeOf(() => stage.run(createDeployment())),
    "deployment:3",
  );
});

test("a deployment is updated to another hash only, and only while it is active", () => {
  const stage = marketStage();
  const other = new Uint8Array(32).fill(9);
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(other))),
    "deployment:4",
  );
  stage.run(createDeployment());
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(new Uint8Array(32).fill(1)))),
    "deployment:10",
  );
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(new Uint8Array(5)))),
    "deployment:10",
  );
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(new Uint8Array()))),
    "deployment:9",
  );
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(other))),
    "ok",
  );
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(other))),
    "deployment:10",
  );
  stage.run(closeDeployment());
  assert.equal(
    outcomeOf(() => stage.run(updateDeployment(new Uint8Array(32)))),
    "deployment:5",
  );
});

test("a deployment is closed once", () => {
  const stage = marketStage();
  assert.equal(
    outcomeOf(() => stage.run(closeDeployment())),
    "deployment:4",
  );
  stage.run(createDeployment());
  assert.deepEqual(namesOf(stage.run(closeDeployment())), [
    "EventDeploymentClosed",
    "EventGroupClosed",
    "EventOrderClosed",
  ]);
  assert.equal(
    outcomeOf(() => stage.run(closeDeployment())),
    "deployment:5",
  );
  assert.equal(stage.balance(tenant, "uact"), startMoney);
});

function groupState(stage: MarketStage, id = groupId): number | undefined {
  const request = QueryGroupRequest.encode(QueryGroupRequest.fromPartial({ id: writeId(id) })).finish();
  return QueryGroupResponse.decode(stage.query("/akash.deployment.v1beta4.Query/Group", request)).group?.state;
}

test("a group is paused, started with a new order, and closed for good", () => {
  const stage = marketStage();
  assert.equal(
    outcomeOf(() => stage.run(pauseGroup())),
    "deployment:14",
  );
  stage.run(createDeployment());
  assert.equal(
    outcomeOf(() => stage.run(startGroup())),
    "deployment:16",
  );
  assert.deepEqual(namesOf(stage.run(pauseGroup())), ["EventGroupPaused", "EventOrderClosed"]);
  assert.equal(groupState(stage), 2);
  assert.equal(
    outcomeOf(() => stage.run(pauseGroup())),
    "deployment:17",
  );
  const started = stage.run(startGroup());
  assert.deepEqual(namesOf(started), ["EventGroupStarted", "EventOrderCreated"]);
  assert.match(started.at(-1)?.attributes[0]?.value ?? "", /"oseq":2/);
  assert.deepEqual(namesOf(stage.run(closeGroup())), ["EventGroupClosed", "EventOrderClosed"]);
  assert.equal(groupState(stage), 4);
  for (const again of [closeGroup(), pauseGroup(), startGroup()]) {
    assert.equal(
      outcomeOf(() => stage.run(again)),
      "deployment:15",
    );
  }
});

test("a group is named by a number from 1 on", () => {
  const stage = marketStage();
  const value = MsgCloseGroup.encode(MsgCloseGroup.fromPartial({ id: writeId({ ...groupId, gseq: 0 }) })).finish();
  assert.equal(
    outcomeOf(() => stage.run({ typeUrl: "/akash.deployment.v1beta4.MsgCloseGroup", value })),
    "sdk:3",
  );
});

test("pausing a group ends its lease as the owner's wish and pays the provider", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  stage.run(createBid());
  stage.run(createLease());
  stage.passBlocks(4n);
  const events = stage.run(pauseGroup());
  assert.deepEqual(namesOf(events), ["EventGroupPaused", "EventOrderClosed", "EventBidClosed", "EventLeaseClosed"]);
  assert.equal(events.find(({ type }) => type.endsWith("LeaseClosed"))?.attributes[1]?.value, '"lease_closed_owner"');
  assert.equal(stage.balance(bidId.provider, "uact"), startMoney + 100n);
  assert.equal(stage.balance(bidId.provider, "uakt"), startMoney);
  // The deployment lives on: its group can be started again and leased to the same provider.
  stage.run(startGroup());
  stage.run(createBid({ ...bidId, oseq: 2 }));
  assert.equal(
    outcomeOf(() => stage.run(createLease({ ...bidId, oseq: 2 }))),
    "ok",
  );
});

test("closing the deployment ends open bids too and gives their deposits back", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  stage.run(createBid());
  assert.deepEqual(namesOf(stage.run(closeDeployment())), [
    "EventDeploymentClosed",
    "EventGroupClosed",
    "EventOrderClosed",
    "EventBidClosed",
  ]);
  assert.equal(stage.balance(bidId.provider, "uakt"), startMoney);
  assert.equal(
    outcomeOf(() => stage.run(closeBid())),
    "market:8",
  );
  assert.equal(
    outcomeOf(() => stage.run(accountDeposit())),
    "escrow:2",
  );
});

test("what is not there is not found, and what is no address is rejected", () => {
  const stage = marketStage();
  const group = QueryGroupRequest.encode(QueryGroupRequest.fromPartial({ id: writeId(orderId) })).finish();
  assert.equal(
    outcomeOf(() => stage.query("/akash.deployment.v1beta4.Query/Group", group)),
    "sdk:22",
  );
  assert.equal(
    outcomeOf(() => stage.query("/akash.deployment.v1beta4.Query/Group")),
    "sdk:18",
  );
  const deployment = QueryGroupRequest.encode(QueryGroupRequest.fromPartial({ id: writeId(deploymentId) })).finish();
  assert.equal(
    outcomeOf(() => stage.query("/akash.deployment.v1beta4.Query/Deployment", deployment)),
    "sdk:22",
  );
});

test("where the network allows it, a deployment is begun and priced in uakt", () => {
  const minDeposits = [{ denom: "uakt", amount: 500_000n }];
  const stage = marketStage({ deploymentParams: { minDeposits, priceDenoms: ["uakt"] } });
  const groups = [spec({ resources: [unit(1, "1", "uakt")] })];
  stage.run(createDeployment({ groups, deposit: deposit(5_000_000n, "uakt") }));
  assert.equal(stage.balance(tenant, "uakt"), startMoney - 5_000_000n);
});
