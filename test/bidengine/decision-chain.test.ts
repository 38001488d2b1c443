/** What our checks let through, the chain takes: a bid that it rejects costs a fee and holds capacity for nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { validateGroup } from "../../src/box/chain/modules/deployment/group-spec.ts";
import { capabilitiesMatch, requirementsMatch } from "../../src/box/chain/modules/market/matching.ts";
import { writeGroupSpec } from "../../src/chain/codec/group-spec.ts";
import { missingCapabilities, signaturesFor, unsatisfied } from "../../src/market/attributes.ts";
import { decCoinOf } from "../../src/market/coin.ts";
import { faultsOfGroup } from "../../src/market/group-rules.ts";
import type { Attribute, GroupSpec } from "../../src/market/group-spec.ts";
import { runs } from "../support/runs.ts";
import { aGroup, aUnit } from "../support/samples/decision-samples.ts";

const value = fc.constantFrom("true", "x");
const attribute = (keys: readonly string[]): fc.Arbitrary<Attribute> =>
  fc.record({ key: fc.constantFrom(...keys), value });
const someOf = (keys: readonly string[], maxLength = 3) =>
  fc.uniqueArray(attribute(keys), { maxLength, selector: ({ key }) => key });

const published = ["region", "tier", "a/b"];
const patterns = [...published, "reg*", "*", "a/*", "t?er", "none"];
const volumes = ["class", "persistent"];
const gpuKeys = ["vendor/nvidia/model/a100", "vendor/nvidia/model/h100", "vendor/nvidia/model/*", "vendor/*"];
const capabilities = [
  ...volumes.flatMap((name) => [`capabilities/storage/1/${name}`, `capabilities/storage/2/${name}`]),
  "capabilities/storage/class",
  ...gpuKeys.slice(0, 2).map((key) => `capabilities/gpu/${key}`),
];
const auditors = ["alice", "bob", "carol"];

const group: fc.Arbitrary<GroupSpec> = fc
  .record({
    attributes: someOf(patterns),
    allOf: fc.subarray(auditors, { maxLength: 1 }),
    anyOf: fc.subarray(auditors),
    storage: someOf(volumes),
    gpu: someOf(gpuKeys),
    gpuCount: fc.constantFrom(0n, 1n),
  })
  .map(({ attributes, allOf, anyOf, storage, gpu, gpuCount }) =>
    aGroup({
      requirements: { attributes, allOf, anyOf },
      units: [
        aUnit({
          storage: [{ name: "data", bytes: 2n ** 30n, attributes: storage }],
          gpu: { count: gpuCount, attributes: gpuCount > 0n ? gpu : [] },
        }),
      ],
    }),
  );

test("an order that we find attributes, signatures and capabilities for, the chain finds them for too", () => {
  const own = fc.tuple(someOf(published), someOf(capabilities, 6)).map(([plain, able]) => [...plain, ...able]);
  const signed = fc.dictionary(fc.constantFrom(...auditors), someOf(published));
  let passed = 0;
  fc.assert(
    fc.property(group, own, signed, (spec, have, signatures) => {
      const wire = writeGroupSpec(spec);
      const audited = Object.entries(signatures).map(([auditor, attributes]) => ({ owner: "us", auditor, attributes }));
      const { signed } = signaturesFor(spec.requirements, new Map(Object.entries(signatures)));
      const published = unsatisfied(spec.requirements.attributes, have).length === 0;
      const able = missingCapabilities(spec, have).length === 0;
      if (published && signed) assert.ok(requirementsMatch(wire, have, audited));
      assert.equal(able, capabilitiesMatch(wire, have));
      // With required signatures the chain ignores published attributes; we check both.
      const { allOf, anyOf } = spec.requirements;
      if (allOf.length + anyOf.length > 0) assert.equal(signed, requirementsMatch(wire, have, audited));
      else assert.equal(published, requirementsMatch(wire, have, audited));
      if (published && signed && able) passed += 1;
    }),
    { numRuns: runs(1_000, 50_000) },
  );
  assert.ok(passed > 0);
});

test("a group that we find no fault with, the chain takes", () => {
  const amount = (...edges: bigint[]) => fc.constantFrom(...edges.flatMap((edge) => [edge - 1n, edge, edge + 1n]));
  const unit = fc.record({
    id: fc.integer({ min: 0, max: 2 }),
    cpu: fc.record({ milli: amount(10n, 384_000n), attributes: someOf(["arch", "b d"]) }),
    memory: fc.record({ bytes: amount(2n ** 20n, 2n ** 41n), attributes: fc.constant([]) }),
    gpu: fc.record({ count: amount(1n, 24n), attributes: someOf(gpuKeys) }),
    storage: fc.array(
      fc.record({ name: fc.constant("v"), bytes: amount(5n * 2n ** 20n, 2n ** 45n), attributes: someOf(volumes) }),
      { maxLength: 2 },
    ),
    count: fc.constantFrom(0, 1, 50, 51),
    price: amount(10n ** 25n).map((atto) => decCoinOf({ atto }, "uakt")),
  });
  let fine = 0;
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 2 }), (units) => {
      const spec = aGroup({ units: units.map((each) => aUnit(each)) });
      if (faultsOfGroup(spec).length > 0) return;
      fine += 1;
      validateGroup(writeGroupSpec(spec));
    }),
    { numRuns: runs(3_000, 100_000) },
  );
  assert.ok(fine > 0);
});
