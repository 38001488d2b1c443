import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/runs.ts";
import {
  addResources,
  describeResources,
  mulResources,
  noResources,
  resourcesOf,
  shortageOf,
  subResources,
} from "./resources.ts";

const unit = resourcesOf({
  cpuMilli: 1_500n,
  memoryBytes: 512n * 1024n ** 2n,
  gpuCount: 1n,
  storageBytes: new Map([
    ["ephemeral", 1024n ** 3n],
    ["beta3", 10n * 1024n ** 3n],
  ]),
  endpoints: 2n,
});

const amount = fc.bigInt({ min: 0n, max: 20n });
const resources = fc
  .record({
    cpuMilli: amount,
    memoryBytes: amount,
    gpuCount: amount,
    storageBytes: fc
      .array(fc.tuple(fc.constantFrom("ephemeral", "beta3", "ram", "__proto__"), amount))
      .map((entries) => new Map(entries)),
    endpoints: amount,
  })
  .map(resourcesOf);

test("resources are described so that a person can read them", () => {
  assert.equal(
    describeResources(unit),
    "cpu 1500m, memory 512Mi, gpu 1, storage-ephemeral 1Gi, storage-beta3 10Gi, endpoints 2",
  );
  assert.equal(describeResources(resourcesOf({ gpuCount: 1024n, endpoints: 1024n })), "gpu 1024, endpoints 1024");
  assert.equal(describeResources(noResources), "nothing");
});

test("what does not fit is named", () => {
  const cases: [Parameters<typeof resourcesOf>[0], string][] = [
    [{ cpuMilli: 1_499n }, "cpu"],
    [{ memoryBytes: 1n }, "memory"],
    [{ gpuCount: 0n }, "gpu"],
    [{ storageBytes: new Map([["ephemeral", 1024n ** 3n]]) }, "storage-beta3"],
    [{ endpoints: 1n }, "endpoints"],
  ];
  for (const [less, name] of cases) {
    const shortage = shortageOf(unit, resourcesOf({ ...unit, ...less }));
    assert.equal(shortage?.resource, name);
  }
  assert.deepEqual(shortageOf(unit, resourcesOf({ ...unit, cpuMilli: 7n })), {
    resource: "cpu",
    wanted: 1_500n,
    available: 7n,
  });
  assert.equal(shortageOf(unit, unit), undefined);
});

test("taking more than there is says what is short and changes nothing", () => {
  assert.throws(() => subResources(resourcesOf({ ...unit, memoryBytes: 1024n ** 2n }), unit), {
    code: "AKP_AMOUNT_INSUFFICIENT",
    message: "memory: 512Mi is wanted, 1Mi is there",
  });
});

test("a negative amount is refused wherever it stands", () => {
  const negatives = [{ cpuMilli: -1n }, { memoryBytes: -1n }, { gpuCount: -1n }, { endpoints: -1n }];
  for (const negative of [...negatives, { storageBytes: new Map([["beta3", -1n]]) }]) {
    assert.throws(() => resourcesOf(negative), { code: "AKP_VALUE_OUT_OF_RANGE", message: /^-1 is out of range/ });
  }
  assert.throws(() => mulResources(unit, -1n), { code: "AKP_VALUE_OUT_OF_RANGE" });
});

test("a class of zero bytes is the same as none", () => {
  assert.deepEqual(resourcesOf({ storageBytes: new Map([["beta3", 0n]]) }), noResources);
  assert.deepEqual(subResources(unit, unit), noResources);
});

test("what is taken and given back leaves everything as it was", () => {
  fc.assert(
    fc.property(resources, resources, resources, (a, b, c) => {
      assert.deepEqual(subResources(addResources(a, b), b), a);
      assert.deepEqual(addResources(a, b), addResources(b, a));
      assert.deepEqual(addResources(addResources(a, b), c), addResources(a, addResources(b, c)));
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("something fits exactly when it can be taken", () => {
  fc.assert(
    fc.property(resources, resources, (wanted, available) => {
      const fits = shortageOf(wanted, available) === undefined;
      if (fits) assert.deepEqual(addResources(subResources(available, wanted), wanted), available);
      else assert.throws(() => subResources(available, wanted), { code: "AKP_AMOUNT_INSUFFICIENT" });
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("n replicas need as much as n times one", () => {
  fc.assert(
    fc.property(resources, fc.nat(6), (one, count) => {
      let sum = noResources;
      for (let replica = 0; replica < count; replica += 1) sum = addResources(sum, one);
      assert.deepEqual(mulResources(one, BigInt(count)), sum);
    }),
    { numRuns: runs(300, 20_000) },
  );
});
