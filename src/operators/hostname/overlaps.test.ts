import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/runs.ts";
import { hostsOverlap } from "../../market/host-names.ts";
import { createOverlaps } from "./overlaps.ts";

test("a name with a hundred labels takes no more memory than it is long", () => {
  const overlaps = createOverlaps();
  const before = process.memoryUsage().heapUsed;
  const count = 3_000;
  for (let at = 0; at < count; at++) overlaps.add(`${"a.".repeat(120)}n${at}.com`);
  const bytesEach = (process.memoryUsage().heapUsed - before) / count;
  // What is made on the way and not collected yet counts too; a set for each domain took 44,000.
  assert.ok(bytesEach < 10_000, `${Math.round(bytesEach)} bytes each`);
  assert.equal([...overlaps.of("*.com")].length, count);
});

const label = fc.constantFrom("a", "b", "c");
const host = fc
  .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 4 }))
  .map(([isWildcard, labels]) => `${isWildcard ? "*." : ""}${labels.join(".")}`);

test("of all names that are there, those that overlap one are found, and no other", () => {
  fc.assert(
    fc.property(fc.array(host), fc.array(host), host, (added, removed, asked) => {
      const overlaps = createOverlaps();
      const there = new Set(added);
      for (const each of there) overlaps.add(each);
      for (const each of removed) if (there.delete(each)) overlaps.remove(each);
      const found = new Set([...overlaps.of(asked)].filter((each) => there.has(each)));
      const wanted = [...there].filter((each) => each !== asked && hostsOverlap(each, asked));
      assert.deepEqual([...found].sort(), wanted.sort());
    }),
    { numRuns: runs(300, 10_000) },
  );
});
