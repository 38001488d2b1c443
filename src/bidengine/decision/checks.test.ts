/** What the table of single failures does not show: the edges of each check, and policies that are only tried. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aBidContext,
  aGroup,
  aUnit,
  fixedPrice,
  openPolicies,
  someInputs,
} from "../../../test/support/samples/decision-samples.ts";
import { parseCoins, parseDecCoin } from "../../market/coin.ts";
import { judgeBy } from "../policies/judgement.ts";
import { noPolicies } from "../policies/policies.ts";
import { decide } from "./decide.ts";
import { type Check, explain } from "./decision.ts";
import type { Inputs } from "./inputs.ts";

const { signal } = new AbortController();
const hourNs = 3_600_000_000_000n;

async function check(name: string, inputs: Inputs, pricing = fixedPrice("80uakt")): Promise<Check> {
  const { checks } = await decide(inputs, pricing, signal);
  const found = checks.find((each) => each.name === name);
  assert.ok(found);
  return found;
}

test("a policy on trial passes and says what it would have done", async () => {
  const policies = { ...openPolicies, configuredAttributes: "dry-run" } as const;
  const { verdict, reason, evidence } = await check(
    "configuredAttributesDemanded",
    someInputs({ context: { policies } }),
  );
  assert.equal(verdict, "pass");
  assert.match(reason, /^dry run, it would be a no: the order does not require region=us-west/);
  assert.deepEqual(evidence, { missing: ["region=us-west"], dryRun: true });
});

test("the mirror may be 5 blocks behind, and must have been built", async () => {
  const at = (behind: bigint | undefined, ready = true) =>
    check("mirrorIsFresh", someInputs({ context: { mirror: { ready, behind } } }));
  assert.equal((await at(5n)).verdict, "pass");
  assert.equal((await at(6n)).verdict, "fail");
  assert.equal((await at(0n, false)).reason, "the chain has not been read yet");
  assert.equal((await at(undefined)).verdict, "fail");
});

test("snapshot older than 2 minutes or source with an error → fail", async () => {
  const of = (ageMs: number | undefined, error?: string) =>
    check(
      "inventoryFresh",
      someInputs({ context: { capacity: { ...aBidContext().capacity, inventory: { ageMs, error } } } }),
    );
  assert.equal((await of(120_000)).verdict, "pass");
  assert.equal((await of(120_001)).verdict, "fail");
  assert.equal((await of(undefined)).reason, "no inventory snapshot has come yet");
  assert.equal((await of(1, "the inventory operator is silent")).reason, "the inventory operator is silent");
});

test("provider not registered → the reason names the register command", async () => {
  const record = { state: "not registered", attributes: [], audited: new Map() } as const;
  const { verdict, reason, until } = await check("attributesMatch", someInputs({ context: { record } }));
  assert.deepEqual([verdict, until], ["fail", "attributes"]);
  assert.match(reason, /akash-provider register/);
});

test("a window must be ours, long enough, and one that the chain takes", async () => {
  const of = (wantedNs: bigint, oursNs: bigint) =>
    check(
      "reclamationAgreed",
      someInputs({ request: { reclamationWindowNs: wantedNs }, context: { reclamationWindowNs: oursNs } }),
    );
  assert.equal((await of(24n * hourNs, 24n * hourNs)).verdict, "pass");
  assert.match((await of(hourNs, 0n)).reason, /requires a notice of 1 h before a reclamation, and we give none/);
  assert.match((await of(hourNs / 2n, hourNs / 2n)).reason, /takes notices from 1 h to 720 h, not our 30 min/);
  assert.match((await of(721n * hourNs, 721n * hourNs)).reason, /not our 721 h/);
});

test("deposit, fee and what is promised must be there to the last coin", async () => {
  const of = (balances: [string, bigint][], promised: [string, bigint][] = [], feeDenom = "uakt") =>
    check(
      "depositCovered",
      someInputs({
        context: {
          balances: new Map(balances),
          promised: new Map(promised),
          fee: { denom: feeDenom, amount: 10_000n },
        },
      }),
    );
  assert.equal((await of([["uakt", 510_000n]])).verdict, "pass");
  assert.equal((await of([["uakt", 509_999n]])).verdict, "fail");
  assert.equal((await of([["uakt", 1_020_000n]], [["uakt", 510_000n]])).verdict, "pass");
  assert.equal((await of([["uakt", 1_019_999n]], [["uakt", 510_000n]])).verdict, "fail");
  assert.match((await of([["uakt", 500_000n]], [], "uact")).reason, /10000uact short of the 10000uact/);
  const other = { bidDeposit: { denom: "uact", amount: 1n } };
  assert.match((await check("depositCovered", someInputs({ context: other }))).reason, /no deposits in uact/);
  const unread = await check("depositCovered", someInputs({ context: { params: undefined } }));
  assert.deepEqual([unread.verdict, unread.until], ["fail", "time"]);
});

test("what the wallet is to keep is left in it, in every denomination, and the reason has the figures", async () => {
  const of = (balances: [string, bigint][], promised: [string, bigint][] = []) =>
    check(
      "depositCovered",
      someInputs({
        context: {
          balances: new Map(balances),
          promised: new Map(promised),
          minimumBalance: parseCoins("1000000uakt,300uact"),
        },
      }),
    );
  assert.equal(
    (
      await of([
        ["uakt", 1_510_000n],
        ["uact", 300n],
      ])
    ).verdict,
    "pass",
  );
  const short = await of([
    ["uakt", 1_509_999n],
    ["uact", 300n],
  ]);
  assert.deepEqual([short.verdict, short.until], ["fail", "wallet"]);
  assert.equal(
    short.reason,
    "the wallet keeps 1000000uakt (minimum-balance) and has 1509999uakt: 1uakt short of the 510000uakt for deposit and fee",
  );
  assert.deepEqual(short.evidence, {
    short: [{ denom: "uakt", needed: "510000", owed: "0", minimum: "1000000", balance: "1509999" }],
  });
  const other = await of([
    ["uakt", 1_510_000n],
    ["uact", 299n],
  ]);
  assert.equal(other.reason, "the wallet keeps 300uact (minimum-balance) and has 299uact", "none of it is needed");
  const both = await of([["uakt", 999_999n]]);
  assert.match(both.reason, /keeps 1000000uakt .* has 999999uakt; .* keeps 300uact .* has 0uact$/);
  const promised = await of(
    [
      ["uakt", 2_009_999n],
      ["uact", 300n],
    ],
    [["uakt", 500_000n]],
  );
  assert.match(
    promised.reason,
    /: 1uakt short of the 510000uakt for deposit and fee beside 500000uakt for other bids$/,
  );
});

test("an order takes one bid more than its limit, as the chain counts", async () => {
  assert.equal((await check("bidsLeft", someInputs({ bidsOnOrder: 20 }))).verdict, "pass");
  assert.equal((await check("bidsLeft", someInputs({ bidsOnOrder: 21 }))).verdict, "fail");
  assert.equal((await check("bidsLeft", someInputs())).verdict, "pass");
});

test("cap on a GPU model → counts the GPUs of the offer", async () => {
  const wanted = { count: 2n, attributes: [{ key: "vendor/nvidia/model/*", value: "true" }] };
  const given = { count: 2n, attributes: [{ key: "vendor/nvidia/model/a100", value: "true" }] };
  const policies = judgeBy({ ...noPolicies, caps: { most: new Map([["gpu a100", 3n]]), dryRun: false } });
  const group = aGroup({ units: [aUnit({ gpu: wanted })] });
  const capacity = {
    ...aBidContext().capacity,
    fit: () => ({ fits: true, replicas: [], offer: [aUnit({ gpu: given })] }) as const,
  };
  const { verdict } = await check(
    "withinOfferCaps",
    someInputs({ request: { group }, context: { policies, capacity } }),
  );
  assert.equal(verdict, "fail", "two replicas of two GPUs");
});

test("a price must be above zero, in the order's money, and at most what it pays", async () => {
  const of = (text: string) => check("priceWithinMax", someInputs(), fixedPrice(text));
  assert.equal((await of("100uakt")).verdict, "pass");
  assert.equal((await of("100.000000000000000001uakt")).verdict, "fail");
  assert.match((await of("0uakt")).reason, /a bid of zero is none/);
  assert.match((await of("1uact")).reason, /our price is in uact, and it pays in uakt/);
});

test("another check fails → no price is requested, and the checks say so", async () => {
  let quotes = 0;
  const pricing = {
    ...fixedPrice("1uakt"),
    quote: () => {
      quotes += 1;
      return { price: parseDecCoin("1uakt"), evidence: {} };
    },
  };
  const decision = await decide(someInputs({ bidsOnOrder: 99 }), pricing, signal);
  assert.equal(quotes, 0);
  assert.deepEqual(explain(decision).slice(-2), [
    "– priceGiven                    another check failed",
    "– priceWithinMax                another check failed",
  ]);
  await decide(someInputs(), pricing, signal);
  assert.equal(quotes, 1);
});
