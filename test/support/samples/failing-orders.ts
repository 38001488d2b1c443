/** For every check an order that fails there and nowhere else. */
import type { Until } from "../../../src/bidengine/decision/decision.ts";
import type { Inputs } from "../../../src/bidengine/decision/inputs.ts";
import type { Pricing } from "../../../src/bidengine/pricing/pricing.ts";
import { parseDecCoin } from "../../../src/market/coin.ts";
import {
  aBidContext,
  aGroup,
  aUnit,
  auditor,
  fixedPrice,
  openPolicies,
  someInputs,
  tenant,
} from "./decision-samples.ts";

export const cheap = fixedPrice("80uakt");
const hourNs = 3_600_000_000_000n;
const no = { yes: false, dryRun: false };

export interface FailingOrder {
  readonly inputs: Inputs;
  readonly reason: RegExp;
  readonly until: Until;
  readonly pricing?: Pricing;
}

const requirements = { attributes: [], allOf: [], anyOf: [] };

export const failingOrders: Readonly<Record<string, FailingOrder>> = {
  biddingIsOn: {
    inputs: someInputs({ context: { pause: { sinceMs: 0, reason: "" } } }),
    reason: /bidding is paused since 1970-01-01T00:00:00.000Z: akash-provider resume/,
    until: "policies",
  },
  settingsComplete: {
    inputs: someInputs({ context: { missingSettings: ["--a", "--b"] } }),
    reason: /every lease needs settings that are missing: set --a and --b, and restart/,
    until: "never",
  },
  mirrorIsFresh: {
    inputs: someInputs({ context: { mirror: { ready: true, behind: 6n } } }),
    reason: /6 blocks behind, more than 5/,
    until: "time",
  },
  inventoryFresh: {
    inputs: someInputs({
      context: { capacity: { ...aBidContext().capacity, inventory: { ageMs: 120_001, error: undefined } } },
    }),
    reason: /120 s old, more than 120 s/,
    until: "time",
  },
  groupIsWellFormed: {
    inputs: someInputs({ request: { group: aGroup({ units: [aUnit({ cpu: { milli: 1n, attributes: [] } })] }) } }),
    reason: /cpu in thousandths must be from 10 to 384000, not 1/,
    until: "never",
  },
  attributesMatch: {
    inputs: someInputs({
      request: { group: aGroup({ requirements: { ...requirements, attributes: [{ key: "tier", value: "1" }] } }) },
    }),
    reason: /we do not publish tier=1/,
    until: "attributes",
  },
  configuredAttributesDemanded: {
    inputs: someInputs({ context: { policies: { ...openPolicies, configuredAttributes: "on" } } }),
    reason: /does not require region=us-west/,
    until: "policies",
  },
  auditorsMatch: {
    inputs: someInputs({ request: { group: aGroup({ requirements: { ...requirements, allOf: [auditor, tenant] } }) } }),
    reason: new RegExp(`required signatures are missing: ${tenant}$`),
    until: "attributes",
  },
  capabilitiesMatch: {
    inputs: someInputs({
      request: {
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
      request: {
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
  manifestPossible: {
    inputs: someInputs({
      request: {
        group: aGroup({
          units: [
            aUnit({
              storage: [
                {
                  name: "my_data",
                  bytes: 2n ** 30n,
                  attributes: [
                    { key: "class", value: "beta3" },
                    { key: "persistent", value: "true" },
                  ],
                },
              ],
            }),
          ],
        }),
      },
    }),
    reason: /every manifest for it would be rejected: unit 1: storage "my_data" has an invalid name/,
    until: "never",
  },
  tenantAllowed: {
    inputs: someInputs({
      context: { policies: { ...openPolicies, tenant: (owner) => ({ ...no, reason: `${owner} is refused` }) } },
    }),
    reason: new RegExp(`^${tenant} is refused$`),
    until: "policies",
  },
  denominationKnown: {
    inputs: someInputs({ request: { group: aGroup({ units: [aUnit({ price: parseDecCoin("50umoon") })] }) } }),
    reason: /what umoon is worth/,
    until: "never",
  },
  reclamationAgreed: {
    inputs: someInputs({ request: { reclamationWindowNs: 25n * hourNs } }),
    reason: /a notice of 25 h before a reclamation, and we give 24 h/,
    until: "never",
  },
  placementExists: {
    inputs: someInputs({
      context: {
        capacity: {
          ...aBidContext().capacity,
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
      context: { policies: { ...openPolicies, caps: () => ({ ...no, reason: "too many cpus", alone: true }) } },
    }),
    reason: /too many cpus/,
    until: "policies",
  },
  addressesAvailable: {
    inputs: someInputs({
      context: {
        capacity: { ...aBidContext().capacity, addressesFor: () => ({ yes: false, reason: "no address is free" }) },
      },
    }),
    reason: /no address is free/,
    until: "room",
  },
  depositCovered: {
    inputs: someInputs({ context: { promised: new Map([["uakt", 4_490_001n]]) } }),
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
