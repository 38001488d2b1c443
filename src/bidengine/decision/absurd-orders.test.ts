import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCost } from "../../../test/support/cost.ts";
import { aBidContext, aGroup, aUnit, fixedPrice, someInputs } from "../../../test/support/samples/decision-samples.ts";
import type { Attribute, GroupSpec } from "../../market/group-spec.ts";
import { decide } from "./decide.ts";
import { explain, failedChecks } from "./decision.ts";
import { writeDecision } from "./record.ts";

const { signal } = new AbortController();
const cheap = fixedPrice("1uakt");
const requirements = { attributes: [], allOf: [], anyOf: [] };

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

const hostile = (at: number): Attribute => ({ key: `${"a*".repeat(60)}b${at}`, value: "true" });
/** More than any provider publishes; every pattern matches all of them. */
const ownAttributes = times(100, (at) => ({ key: "a".repeat(120) + at, value: "true" }));
/** Matches only the last of what the auditors signed. */
const lastOf = (at: number): Attribute => ({ key: `${"a*".repeat(10 + at)}z`, value: "true" });
const signed = [
  ...times(499, (at) => ({ key: "a".repeat(120) + at, value: "true" })),
  { key: `${"a".repeat(120)}z`, value: "true" },
];
const audited = new Map(times(20, (at) => [`auditor${at}`, signed]));
const ownGpus = times(50, (at) => ({ key: `capabilities/gpu/vendor/nvidia/model/a${at}a`, value: "true" }));

const absurd: Readonly<Record<string, [GroupSpec, RegExp]>> = {
  "no units": [aGroup({ units: [] }), /cpu of all units together/],
  "zero replicas": [aGroup({ units: [aUnit({ count: 0 })] }), /cpu of all units together must be from 1/],
  "four billion replicas": [aGroup({ units: [aUnit({ count: 2 ** 32 - 1 })] }), /4294967295 replicas/],
  "more memory than there is": [
    aGroup({ units: [aUnit({ memory: { bytes: 2n ** 255n, attributes: [] } })] }),
    /memory in bytes must be/,
  ],
  "less than nothing": [aGroup({ units: [aUnit({ cpu: { milli: -5n, attributes: [] } })] }), /not -5/],
  "10,000 units": [aGroup({ units: times(10_000, (at) => aUnit({ id: at + 1 })) }), /10000 units/],
  "10,000 required attributes": [
    aGroup({ requirements: { ...requirements, attributes: times(10_000, (at) => ({ key: `k${at}`, value: "v" })) } }),
    /10000 attributes/,
  ],
  "10,000 hostile patterns": [
    aGroup({ requirements: { ...requirements, attributes: times(10_000, hostile) } }),
    /10000 attributes/,
  ],
  "as many hostile patterns as are read": [
    aGroup({ requirements: { ...requirements, attributes: times(20, hostile) } }),
    /we do not publish a\*a\*.* and 15 more/,
  ],
  "too many patterns": [
    aGroup({ requirements: { ...requirements, attributes: times(21, hostile) } }),
    /21 patterns where at most 20 make sense/,
  ],
  "auditors who have signed what is slow to search": [
    aGroup({ requirements: { attributes: times(20, lastOf), allOf: times(2, (at) => `auditor${at}`), anyOf: [] } }),
    /we do not publish/,
  ],
  "patterns for every auditor": [
    aGroup({ requirements: { attributes: times(3, lastOf), allOf: [], anyOf: times(20, (at) => `auditor${at}`) } }),
    /60 patterns for its auditors/,
  ],
  "10,000 attributes of a GPU": [
    aGroup({ units: [aUnit({ gpu: { count: 1n, attributes: times(10_000, hostile) } })] }),
    /10000 attributes/,
  ],
  "attributes in every unit": [
    aGroup({ units: times(250, (at) => aUnit({ id: at + 1, gpu: { count: 1n, attributes: times(100, hostile) } })) }),
    /25000 attributes where at most 1000/,
  ],
  "endpoints without end": [
    aGroup({ units: [aUnit({ endpoints: times(10_000, () => ({ kind: "random-port", sequenceNumber: 0 })) })] }),
    /10000 endpoints/,
  ],
  "the maximum of GPU attributes that are read": [
    aGroup({ units: times(10, (at) => aUnit({ id: at + 1, gpu: { count: 1n, attributes: times(100, hostile) } })) }),
    /is no attribute; unit 1: .* and 17 more$/,
  ],
  "10,000 volumes": [
    aGroup({
      units: [aUnit({ storage: times(10_000, (at) => ({ name: `v${at}`, bytes: 2n ** 30n, attributes: [] })) })],
    }),
    /10000 volumes/,
  ],
  "10,000 auditors": [
    aGroup({ requirements: { ...requirements, anyOf: times(10_000, (at) => `akash1${at}`) } }),
    /10000 auditors/,
  ],
  "a name of 100 KB": [aGroup({ name: "n".repeat(100_000) }), /a text of 100000 characters/],
  "an attribute of 100 KB": [
    aGroup({ requirements: { ...requirements, attributes: [{ key: "*".repeat(100_000), value: "x" }] } }),
    /a text of 100000 characters/,
  ],
  "an endpoint of an unknown kind": [
    aGroup({ units: [aUnit({ endpoints: [{ kind: "unknown", sequenceNumber: 0 }] })] }),
    /an unknown kind/,
  ],
  "a price in no denomination": [
    aGroup({ units: [aUnit({ price: { denom: "", amount: { atto: 1n } } })] }),
    /which is no denomination/,
  ],
  "a price below zero": [
    aGroup({ units: [aUnit({ price: { denom: "uakt", amount: { atto: -1n } } })] }),
    /its price is below zero/,
  ],
  "two denominations": [
    aGroup({ units: [aUnit(), aUnit({ id: 2, price: { denom: "uact", amount: { atto: 1n } } })] }),
    /one denomination, and these are in uakt, uact/,
  ],
};

for (const [name, [group, reason]] of Object.entries(absurd)) {
  test(`an order with ${name} is a no with a short reason, at a bounded cost`, async () => {
    const context = aBidContext({
      record: { state: "registered", attributes: [...ownAttributes, ...ownGpus], audited },
    });
    const inputs = someInputs({ request: { group }, context });
    const decision = await decide(inputs, cheap, signal);
    assert.equal(decision.verdict, "no");
    assert.match(failedChecks(decision)[0]?.reason ?? "", reason);
    const ordinary = someInputs({ context });
    await assertCost(() => decide(inputs, cheap, signal), { times: 1_000, of: () => decide(ordinary, cheap, signal) });
    assert.ok(JSON.stringify(writeDecision(decision)).length < 10_000);
    assert.ok(explain(decision).every((line) => line.length < 1_000));
  });
}

test("what a tenant wrote cannot move a terminal's cursor, nor hide in a line", async () => {
  const attributes = [{ key: "a\u001b[2Jb\u202ec\nd", value: "\u0007" }];
  const inputs = someInputs({ request: { group: aGroup({ requirements: { ...requirements, attributes } }) } });
  const decision = await decide(inputs, cheap, signal);
  for (const line of explain(decision)) assert.doesNotMatch(line, /[\p{Cc}\p{Cf}]/u);
  assert.match(failedChecks(decision)[0]?.reason ?? "", /a\\u\{1b\}\[2Jb\\u\{202e\}c\\u\{a\}d=\\u\{7\}/);
});
