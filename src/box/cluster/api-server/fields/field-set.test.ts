import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../../test/support/runs.ts";
import { difference, type FieldSet, intersection, isEmpty, pathsOf, singleField, union, without } from "./field-set.ts";

const anySet: fc.Arbitrary<FieldSet> = fc
  .array(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 }), { maxLength: 8 })
  .map((paths) => paths.reduce<FieldSet>((set, path) => union(set, singleField(...path)), {}));

const members = (set: FieldSet) => [...pathsOf(set)].sort();

test("sets of fields are sets of paths", () => {
  const property = fc.property(anySet, anySet, (a, b) => {
    const [left, right] = [members(a), members(b)];
    assert.deepEqual(members(union(a, b)), [...new Set([...left, ...right])].sort());
    assert.deepEqual(
      members(intersection(a, b)),
      left.filter((path) => right.includes(path)),
    );
    assert.deepEqual(
      members(difference(a, b)),
      left.filter((path) => !right.includes(path)),
    );
  });
  fc.assert(property, { numRuns: runs(200, 5_000) });
});

test("without a field means without all that is below it", () => {
  const property = fc.property(anySet, anySet, (a, b) => {
    const dropped = members(b);
    const kept = members(a).filter((path) => !dropped.some((each) => path === each || path.startsWith(`${each}.`)));
    assert.deepEqual(members(without(a, b)), kept);
  });
  fc.assert(property, { numRuns: runs(200, 5_000) });
});

test("nothing is left behind when everything is taken out", () => {
  const property = fc.property(anySet, (set) => assert.ok(isEmpty(difference(set, set))));
  fc.assert(property, { numRuns: runs(100, 2_000) });
});

test("paths are written as people read them", () => {
  const set = {
    "f:spec": {
      "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': {} } } },
    },
    "f:metadata": { "f:finalizers": { 'v:"example.com/x"': {} } },
  };
  assert.deepEqual(
    [...pathsOf(set)],
    [
      '.metadata.finalizers[="example.com/x"]',
      '.spec.containers[name="web"]',
      '.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]',
    ],
  );
});
