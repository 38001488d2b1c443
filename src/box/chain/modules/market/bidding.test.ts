import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  bidId,
  closeBid,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  deposit,
  digits,
  spec,
  unit,
} from "../../../../../test/support/market-messages.ts";
import {
  type MarketStage,
  marketStage,
  otherProvider,
  outcomeOf,
  person,
  provider,
  startMoney,
  tenant,
} from "../../../../../test/support/stages/market-stage.ts";
import { signatures } from "../audit/audit.ts";
import { providers } from "../provider/providers.ts";

const hourNs = 3_600_000_000_000n;
const uact = (amount: string) => ({ denom: "uact", amount });

const bids: readonly [string, Parameters<typeof createBid>, string][] = [
  ["one at the order's price", [bidId, { price: uact("1000") }], "ok"],
  ["one with a fraction of 18 digits", [bidId, { price: uact("0.000000000000000001") }], "ok"],
  ["one above the order's price", [bidId, { price: uact("1000.000000000000000001") }], "market:22"],
  ["one for nothing", [bidId, { price: uact("0") }], "market:19"],
  ["one for less than nothing", [bidId, { price: uact("-1") }], "market:22"],
  ["one in another denom than the order", [bidId, { price: { denom: "uakt", amount: "1" } }], "undefined:111222"],
  ["one in a denom that is none", [bidId, { price: { denom: "x", amount: "1" } }], "market:22"],

  ["one that pays its deposit in uact", [bidId, { deposit: deposit(500_000n, "uact") }], "ok"],
  ["one with a deposit below the minimum", [bidId, { deposit: deposit(499_999n, "uakt") }], "undefined:1"],
  ["one with a deposit in an unknown denom", [bidId, { deposit: deposit(500_000n, "ufoo") }], "undefined:1"],
  ["one with a deposit it does not have", [bidId, { deposit: deposit(startMoney + 1n, "uakt") }], "undefined:1"],
  ["one with a deposit from nowhere", [bidId, { deposit: deposit(500_000n, "uakt", []) }], "akash:4"],

  ["one on an order that is not there", [{ ...bidId, oseq: 2 }], "market:15"],
  ["one on order number 0", [{ ...bidId, oseq: 0 }], "sdk:3"],
  ["one on the bidder's own order", [{ ...bidId, provider: tenant }], "sdk:36"],
  ["a second one of a provider", [{ ...bidId, bseq: 1 }], "sdk:36"],
  ["one of an account without a provider record", [{ ...bidId, provider: person(99) }], "market:30"],
  ["one whose provider is no address", [{ ...bidId, provider: "akash1x" as typeof provider }], "sdk:7"],

  ["one that offers nothing in particular", [bidId, { offer: [] }], "ok"],
  ["one that offers a unit that is not requested", [bidId, { offer: [{ id: 2, count: 1 }] }], "market:32"],
  ["one that offers another count", [bidId, { offer: [{ id: 1, count: 2 }] }], "market:32"],
  [
    "one that offers a unit twice",
    [
      bidId,
      {
        offer: [
          { id: 1, count: 1 },
          { id: 1, count: 1 },
        ],
      },
    ],
    "undefined:111222",
  ],

  ["one that may be reclaimed after the shortest time", [bidId, { windowNs: hourNs }], "ok"],
  ["one that may be reclaimed too soon", [bidId, { windowNs: hourNs - 1n }], "market:39"],
  ["one that may be reclaimed too late", [bidId, { windowNs: 720n * hourNs + 1n }], "market:39"],
  ["one that may be reclaimed in the past", [bidId, { windowNs: -1n }], "market:39"],
];

for (const [what, parts, outcome] of bids) {
  test(`a provider bids: ${what} → ${outcome}`, () => {
    const stage = marketStage();
    stage.run(createDeployment());
    assert.equal(
      outcomeOf(() => stage.run(createBid(...parts))),
      outcome,
    );
    stage.assertSupply();
  });
}

test("an order that demands a window for reclamation takes no bid without one, and none with a shorter one", () => {
  const stage = marketStage();
  stage.run(createDeployment({ minWindowNs: 3n * hourNs }));
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:40",
  );
  assert.equal(
    outcomeOf(() => stage.run(createBid(bidId, { windowNs: 3n * hourNs - 1n }))),
    "market:41",
  );
  assert.equal(
    outcomeOf(() => stage.run(createBid(bidId, { windowNs: 3n * hourNs }))),
    "ok",
  );
});

test("a provider bids on an order once, whatever became of the bid", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  stage.run(createBid());
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:21",
  );
  stage.run(closeBid());
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:21",
  );
  assert.equal(stage.balance(provider, "uakt"), startMoney);
});

test("a bid on an active or closed order is rejected", () => {
  const stage = marketStage();
  stage.run(createDeployment());
  stage.run(createBid());
  stage.run(createLease());
  const late = createBid({ ...bidId, provider: otherProvider });
  assert.equal(
    outcomeOf(() => stage.run(late)),
    "market:23",
  );
  stage.passBlocks();
  stage.run(closeDeployment());
  assert.equal(
    outcomeOf(() => stage.run(late)),
    "market:24",
  );
});

test("an order takes one bid more than its limit, then no more", () => {
  const bidders = Array.from({ length: 23 }, (_, index) => person(100 + index));
  const stage = marketStage({ people: [tenant, ...bidders], registered: bidders });
  stage.run(createDeployment());
  const outcomes = bidders.map((bidder) => outcomeOf(() => stage.run(createBid({ ...bidId, provider: bidder }))));
  assert.deepEqual(outcomes, [...Array<string>(21).fill("ok"), "undefined:1", "undefined:1"]);
});

function publish(stage: MarketStage, attributes: { key: string; value: string }[]): void {
  providers(stage.context).set(provider, Provider.fromPartial({ owner: provider, attributes }));
}

test("what a tenant requires must be among what the provider publishes", () => {
  const stage = marketStage();
  stage.run(createDeployment({ groups: [spec({ requirements: { attributes: [{ key: "tier", value: "pro" }] } })] }));
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:5",
  );
  publish(stage, [
    { key: "tier", value: "pro" },
    { key: "region", value: "lab" },
  ]);
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "ok",
  );
});

test("what an auditor must have signed counts only with the auditor's signature", () => {
  const stage = marketStage();
  const [auditor, attributes] = [person(200), [{ key: "region", value: "lab" }]];
  stage.run(createDeployment({ groups: [spec({ requirements: { signedBy: { anyOf: [auditor] }, attributes } })] }));
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:5",
  );
  const signed = AuditedProvider.fromPartial({ owner: provider, auditor, attributes });
  signatures(stage.context).set(`${provider}/${auditor}`, signed);
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "ok",
  );
});

test("a volume of a certain class needs a provider with such storage", () => {
  const stage = marketStage();
  const attributes = [
    { key: "class", value: "beta3" },
    { key: "persistent", value: "true" },
  ];
  const plain = unit(1);
  const storage = [{ name: "data", quantity: digits(2 ** 30), attributes }];
  stage.run(
    createDeployment({ groups: [spec({ resources: [{ ...plain, resource: { ...plain.resource, storage } }] })] }),
  );
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "market:32",
  );
  publish(stage, [
    { key: "region", value: "lab" },
    { key: "capabilities/storage/2/class", value: "beta3" },
    { key: "capabilities/storage/2/persistent", value: "true" },
  ]);
  assert.equal(
    outcomeOf(() => stage.run(createBid())),
    "ok",
  );
});
