import assert from "node:assert/strict";
import { test } from "node:test";
import { aGroup, aUnit } from "../../test/support/samples/decision-samples.ts";
import { parseDecCoin } from "./coin.ts";
import { faultsOfGroup, faultsOfGroups } from "./group-rules.ts";
import type { ResourceUnit } from "./group-spec.ts";
import { mostFor } from "./group-totals.ts";

const tebi = 2n ** 40n;
const attributes = [{ key: "class", value: "beta2" }];

/** What is allowed by a hair, and what is not any more. */
const edges: [what: string, right: Partial<ResourceUnit>, wrong: Partial<ResourceUnit>, reason: RegExp][] = [
  ["little cpu", { cpu: { milli: 10n, attributes: [] } }, { cpu: { milli: 9n, attributes: [] } }, /unit 1: cpu in th/],
  [
    "much cpu",
    { cpu: { milli: 384_000n, attributes: [] } },
    { cpu: { milli: 384_001n, attributes: [] } },
    /not 384001/,
  ],
  [
    "little memory",
    { memory: { bytes: 2n ** 20n, attributes: [] } },
    { memory: { bytes: 1n, attributes: [] } },
    /memory/,
  ],
  [
    "much memory",
    { memory: { bytes: 2n * tebi, attributes: [] } },
    { memory: { bytes: 2n * tebi + 1n, attributes: [] } },
    /memory in bytes/,
  ],
  [
    "cards",
    { gpu: { count: 24n, attributes: [] } },
    { gpu: { count: 25n, attributes: [] } },
    /gpus must be from 0 to 24/,
  ],
  ["a GPU for its attributes", { gpu: { count: 1n, attributes } }, { gpu: { count: 0n, attributes } }, /and no gpu/],
  [
    "much storage",
    { storage: [{ name: "a", bytes: 32n * tebi, attributes: [] }], count: 1 },
    { storage: [{ name: "a", bytes: 32n * tebi + 1n, attributes: [] }], count: 1 },
    /volume a in bytes/,
  ],
  ["storage at all", {}, { storage: [] }, /it has no storage/],
  ["replicas", { count: 1 }, { count: 0 }, /cpu of all units together must be from 1/],
  [
    "as much as 50 units",
    { count: 50, cpu: { milli: 384_000n, attributes: [] } },
    { count: 51, cpu: { milli: 384_000n, attributes: [] } },
    /cpu of all units together/,
  ],
  ["the price", { price: parseDecCoin("10000000uakt") }, { price: parseDecCoin("10000000.1uakt") }, /above 10000000/],
  ["the id", { id: 7 }, { id: 0 }, /ids count from 1/],
  [
    "keys",
    { cpu: { milli: 10n, attributes } },
    { cpu: { milli: 10n, attributes: [...attributes, ...attributes] } },
    /class stands twice/,
  ],
  [
    "letters of keys",
    { cpu: { milli: 10n, attributes } },
    { cpu: { milli: 10n, attributes: [{ key: "a key", value: "" }] } },
    /"a key" is no attribute/,
  ],
];

for (const [what, right, wrong, reason] of edges) {
  test(`a group's ${what} has an edge`, () => {
    assert.deepEqual(faultsOfGroup(aGroup({ units: [aUnit(right)] })), []);
    const faults = faultsOfGroup(aGroup({ units: [aUnit(wrong)] }));
    assert.match(faults.join("\n"), reason);
  });
}

test("a unit of count 0 is allowed beside one that has replicas", () => {
  assert.deepEqual(faultsOfGroup(aGroup({ units: [aUnit(), aUnit({ id: 2, count: 0 })] })), []);
});

test("ids and names are unique, and denominations equal", () => {
  assert.deepEqual(faultsOfGroup(aGroup({ units: [aUnit(), aUnit()] })), ["two units have the id 1"]);
  assert.deepEqual(faultsOfGroup(aGroup({ name: "" })), ["it has no name"]);
  const [west, other] = [aGroup(), aGroup({ units: [aUnit({ price: parseDecCoin("1uact") })] })];
  assert.deepEqual(faultsOfGroups([west, other]), [
    "two groups are named west",
    "all prices must be in one denomination, and these are in uakt, uact",
  ]);
  assert.deepEqual(faultsOfGroups([]), ["there is no group"]);
});

test("of ten thousand faults, only the first are collected", () => {
  let reads = 0;
  const keys = Array.from({ length: 1_000 }, (_, at) => ({
    value: "",
    get key() {
      reads += 1;
      return `${at % 500}`.repeat(1_000);
    },
  }));
  const units = Array.from({ length: 1_000 }, () => aUnit({ id: 3, count: 0, gpu: { count: 9n, attributes: keys } }));
  const faults = faultsOfGroup(aGroup({ units }));
  assert.equal(faults.length, 20);
  assert.equal(reads, keys.length, "those of one unit");
  assert.ok(faults.every((fault) => fault.length < 200));
});

test("a group's price counts every replica", () => {
  const units = [
    aUnit({ count: 3, price: parseDecCoin("0.5uakt") }),
    aUnit({ count: 1, price: parseDecCoin("2uakt") }),
  ];
  assert.deepEqual(mostFor(aGroup({ units })), parseDecCoin("3.5uakt"));
});
