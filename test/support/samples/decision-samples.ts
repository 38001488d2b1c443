/** Inputs of a decision that all checks pass, to be changed in one place by a test. */
import type { BidContext, Inputs } from "../../../src/bidengine/decision/inputs.ts";
import type { Judge } from "../../../src/bidengine/policies/judgement.ts";
import type { Pricing } from "../../../src/bidengine/pricing/pricing.ts";
import { parseDecCoin } from "../../../src/market/coin.ts";
import type { GroupSpec, ResourceUnit } from "../../../src/market/group-spec.ts";

export const tenant = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
export const auditor = "akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6";
const hourNs = 3_600_000_000_000n;

export function aUnit(change: Partial<ResourceUnit> = {}): ResourceUnit {
  return {
    id: 1,
    cpu: { milli: 1000n, attributes: [] },
    memory: { bytes: 2n ** 29n, attributes: [] },
    gpu: { count: 0n, attributes: [] },
    storage: [{ name: "default", bytes: 2n ** 30n, attributes: [] }],
    endpoints: [{ kind: "shared-http", sequenceNumber: 0 }],
    count: 2,
    price: parseDecCoin("50uakt"),
    ...change,
  };
}

export function aGroup(change: Partial<GroupSpec> = {}): GroupSpec {
  return { name: "west", requirements: { attributes: [], allOf: [], anyOf: [] }, units: [aUnit()], ...change };
}

const yes = { yes: true, dryRun: false };

export const openPolicies: Judge = {
  bidding: () => ({ ...yes, reason: "bidding is on" }),
  tenant: () => ({ ...yes, reason: "every tenant is welcome" }),
  caps: () => ({ ...yes, reason: "nothing is capped" }),
  image: () => ({ ...yes, reason: "every image is run" }),
  hostname: () => ({ ...yes, reason: "every host name is served" }),
  configuredAttributes: "off",
};

export function aBidContext(change: Partial<BidContext> = {}): BidContext {
  return {
    provider: "akash18ydpk8qarc0jqgfzyvjz2f38qqqsyqcyq5rqwz",
    record: {
      state: "registered",
      attributes: [
        { key: "region", value: "us-west" },
        { key: "capabilities/storage/1/class", value: "beta3" },
        { key: "capabilities/storage/1/persistent", value: "true" },
        { key: "capabilities/gpu/vendor/nvidia/model/a100", value: "true" },
      ],
      audited: new Map([[auditor, [{ key: "region", value: "us-west" }]]]),
    },
    configuredAttributes: [{ key: "region", value: "us-west" }],
    params: {
      minDeposits: [{ denom: "uakt", amount: 500_000n }],
      orderMaxBids: 20,
      minReclamationWindowNs: hourNs,
      maxReclamationWindowNs: 720n * hourNs,
    },
    balances: new Map([["uakt", 5_000_000n]]),
    promised: new Map(),
    fee: { denom: "uakt", amount: 10_000n },
    bidDeposit: { denom: "uakt", amount: 500_000n },
    minimumBalance: [],
    reclamationWindowNs: 24n * hourNs,
    mirror: { ready: true, behind: 0n },
    pause: undefined,
    missingSettings: [],
    policies: openPolicies,
    capacity: {
      inventory: { ageMs: 1_000, error: undefined },
      fit: ({ units }) => ({ fits: true, replicas: [{ unit: 1, node: "n1" }], offer: units }),
      addressesFor: () => ({ yes: true, reason: "it leases no addresses" }),
      sold: new Map(),
    },
    nowMs: 0,
    ...change,
  };
}

export function someInputs(
  change: {
    readonly request?: Partial<Inputs["request"]>;
    readonly context?: Partial<BidContext>;
    readonly bidsOnOrder?: number;
  } = {},
): Inputs {
  return {
    request: { owner: tenant, group: aGroup(), reclamationWindowNs: undefined, ...change.request },
    bidsOnOrder: change.bidsOnOrder,
    context: aBidContext(change.context),
  };
}

/** Asks always the same. */
export function fixedPrice(text: string): Pricing {
  return {
    quote: () => ({ price: parseDecCoin(text), evidence: { fixed: text } }),
    onChange: () => undefined,
    error: undefined,
  };
}
