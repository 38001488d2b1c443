import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aGroup,
  aStanding,
  aUnit,
  auditor,
  fixedPrice,
  openPolicies,
  someInputs,
  tenant,
} from "../../../test/a-decision.ts";
import { formatDecCoin, parseDecCoin } from "../../market/coin.ts";
import type { Pricing } from "../pricing/pricing.ts";
import { checkNames, decide, screen } from "./decide.ts";
import { type Decision, refusals, type Until, waitsFor } from "./decision.ts";
import { explain } from "./explain.ts";
import type { Inputs } from "./inputs.ts";
import { bidTerms } from "./money-checks.ts";
import { readDecision, writeDecision } from "./record.ts";

const { signal } = new AbortController();
const cheap = fixedPrice("80uakt");
const hourNs = 3_600_000_000_000n;
const no = { yes: false, dryRun: false };

interface Row {
  readonly inputs: Inputs;
  readonly reason: RegExp;
  readonly until: Until;
  readonly pricing?: Pricing;
}

const requirements = { attributes: [], allOf: [], anyOf: [] };

/** For every check an order that fails there and nowhere else. */
const rows: Readonly<Record<string, Row>> = {
  biddingIsOn: {
    inputs: someInputs({ standing: { pause: { sinceMs: 0, reason: "", dryRun: false } } }),
    reason: /bidding is paused since 1970-01-01T00:00:00.000Z: akash-provider resume/,
    until: "policies",
  },
  mirrorIsFresh: {
    inputs: someInputs({ standing: { mirror: { ready: true, behind: 6n } } }),
    reason: /6 blocks behind, more than 5/,
    until: "time",
  },
  pictureIsFresh: {
    inputs: someInputs({
      standing: { capacity: { ...aStanding().capacity, picture: { ageMs: 120_001, trouble: undefined } } },
    }),
    reason: /120 s old, more than 120 s/,
    until: "room",
  },
  groupIsWellFormed: {
    inputs: someInputs({ asked: { group: aGroup({ units: [aUnit({ cpu: { milli: 1n, attributes: [] } })] }) } }),
    reason: /cpu in thousandths must be from 10 to 384000, not 1/,
    until: "never",
  },
  attributesMatch: {
    inputs: someInputs({
      asked: { group: aGroup({ requirements: { ...requirements, attributes: [{ key: "tier", value: "1" }] } }) },
    }),
    reason: /we do not publish tier=1/,
    until: "attributes",
  },
  configuredAttributesDemanded: {
    inputs: someInputs({ standing: { policies: { ...openPolicies, configuredAttributes: "on" } } }),
    reason: /does not ask for region=us-west/,
    until: "policies",
  },
  auditorsMatch: {
    inputs: someInputs({ asked: { group: aGroup({ requirements: { ...requirements, allOf: [auditor, tenant] } }) } }),
    reason: new RegExp(`not signed, as it asks for, by ${tenant}$`),
    until: "attributes",
  },
  capabilitiesMatch: {
    inputs: someInputs({
      asked: {
        group: aGroup({
          units: [aUnit({ gpu: { count: 1n, attributes: [{ key: "vendor/nvidia/model/h100", value: "true" }] } })],
        }),
      },
    }),
    reason: /unit 1 wants gpu with vendor\/nvidia\/model\/h100=true/,
    until: "attributes",
  },
  volumesWithinLimit: {
    inputs: someInputs({
      asked: {
        group: aGroup({
          units: [
            aUnit({
              storage: Array.from({ length: 5 }, (_, at) => ({ name: `v${at}`, bytes: 2n ** 30n, attributes: [] })),
            }),
          ],
        }),
      },
    }),
    reason: /unit 1 has 5 volumes; at most 4/,
    until: "never",
  },
  tenantAllowed: {
    inputs: someInputs({
      standing: { policies: { ...openPolicies, tenant: (owner) => ({ ...no, reason: `${owner} is refused` }) } },
    }),
    reason: new RegExp(`^${tenant} is refused$`),
    until: "policies",
  },
  denominationKnown: {
    inputs: someInputs({ asked: { group: aGroup({ units: [aUnit({ price: parseDecCoin("50umoon") })] }) } }),
    reason: /what umoon is worth/,
    until: "never",
  },
  reclamationAgreed: {
    inputs: someInputs({ asked: { reclamationWindowNs: 25n * hourNs } }),
    reason: /a notice of 25 h before a reclamation, and we give 24 h/,
    until: "never",
  },
  placementExists: {
    inputs: someInputs({
      standing: {
        capacity: {
          ...aStanding().capacity,
          fit: () => ({
            fits: false,
            reason: "no node has 1000m cpu free",
            shortages: [{ unit: 1, resource: "cpu", wanted: 1000n, available: 900n, where: "n1", nodes: 3 }],
          }),
        },
      },
    }),
    reason: /no node has 1000m cpu free/,
    until: "room",
  },
  withinOfferCaps: {
    inputs: someInputs({
      standing: { policies: { ...openPolicies, caps: () => ({ ...no, reason: "too many cpus" }) } },
    }),
    reason: /too many cpus/,
    until: "policies",
  },
  addressesAvailable: {
    inputs: someInputs({
      standing: {
        capacity: { ...aStanding().capacity, addressesFor: () => ({ yes: false, reason: "no address is free" }) },
      },
    }),
    reason: /no address is free/,
    until: "room",
  },
  depositCovered: {
    inputs: someInputs({ standing: { owed: new Map([["uakt", 4_490_001n]]) } }),
    reason: /the wallet is 1uakt short of the 510000uakt for deposit and fee beside 4490001uakt for other bids/,
    until: "wallet",
  },
  bidsLeft: {
    inputs: someInputs({ bidsOnOrder: 21 }),
    reason: /it has 21 bids, and takes 21/,
    until: "never",
  },
  priceGiven: {
    inputs: someInputs(),
    pricing: { ...cheap, quote: () => ({ price: undefined, reason: "the script exited with 1", evidence: {} }) },
    reason: /the script exited with 1/,
    until: "prices",
  },
  priceWithinMax: {
    inputs: someInputs(),
    pricing: fixedPrice("100.5uakt"),
    reason: /our price of 100\.5uakt is 0\.5uakt more than it pays at most/,
    until: "prices",
  },
};

function names(checks: Decision["checks"]): string[] {
  return checks.map(({ name }) => name);
}

test("every check has an order that fails there", () => {
  assert.deepEqual(Object.keys(rows), checkNames);
});

for (const [name, { inputs, reason, until, pricing = cheap }] of Object.entries(rows)) {
  test(`an order can fail at ${name} alone, and is explained alike from the journal`, async () => {
    const decision = await decide(inputs, pricing, signal);
    assert.equal(decision.verdict, "no");
    assert.deepEqual(names(refusals(decision)), [name]);
    assert.match(refusals(decision)[0]?.reason ?? "", reason);
    assert.deepEqual([...waitsFor(decision)], until === "never" ? [] : [until]);
    assert.deepEqual(names(decision.checks), checkNames, "all are named, also after a no");
    const readBack = readDecision(JSON.parse(JSON.stringify(writeDecision(decision))));
    assert.deepEqual(explain(readBack), explain(decision));
    if (inputs.bidsOnOrder !== undefined) return;
    const screened = await screen(inputs.asked, inputs.standing, pricing, signal);
    assert.deepEqual(explain(screened), explain(decision));
  });
}

test("an order that passes everything is bid on, for the price that was screened", async () => {
  const inputs = someInputs({ bidsOnOrder: 20, asked: { reclamationWindowNs: 24n * hourNs } });
  const decision = await decide(inputs, cheap, signal);
  const screened = await screen(inputs.asked, inputs.standing, cheap, signal);
  assert.equal(decision.verdict, "bid");
  assert.ok(decision.price && screened.price);
  assert.equal(formatDecCoin(decision.price), formatDecCoin(screened.price));
  assert.deepEqual(refusals(decision), []);
  assert.equal(explain(decision)[0], "bid at 80uakt per block");
});

test("the deposit is the larger of ours and the chain's, and a window is promised only where one is asked for", () => {
  const small = someInputs({ standing: { bidDeposit: { denom: "uakt", amount: 1n } } });
  assert.deepEqual(bidTerms(small), { deposit: { denom: "uakt", amount: 500_000n }, reclamationWindowNs: undefined });
  const large = someInputs({
    asked: { reclamationWindowNs: hourNs },
    standing: { bidDeposit: { denom: "uakt", amount: 600_000n } },
  });
  assert.deepEqual(bidTerms(large), {
    deposit: { denom: "uakt", amount: 600_000n },
    reclamationWindowNs: 24n * hourNs,
  });
});
