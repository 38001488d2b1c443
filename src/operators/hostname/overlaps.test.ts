import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { allocatedBytes } from "../../../test/heap.ts";
import { runs } from "../../../test/runs.ts";
import { hostsOverlap } from "../../market/host-names.ts";
import { createOverlaps } from "./view.ts";

test("a name with a hundred labels takes no more memory than it is long", async () => {
  const overlaps = createOverlaps();
  const count = 3_000;
  const bytes = await allocatedBytes(() => {
    for (let at = 0; at < count; at++) overlaps.add(`${"a.".repeat(120)}n${at}.com`);
  });
  // Three thousand for each, what is made on the way included; a set for each domain took 44,000.
  assert.ok(bytes < 10_000 * count, `${Math.round(bytes / count)} bytes each`);
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
