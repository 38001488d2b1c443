import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { jitter, type Random, realRandom } from "./random.ts";

test("the same seed gives the same sequence, another seed another one", () => {
  const draw = (seed: number) => {
    const random = createSeededRandom(seed);
    return [random.next(), random.int(1_000_000), ...random.bytes(8), random.next()];
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  // The numbers themselves are fixed, so that a seed from another machine replays here.
  assert.deepEqual([...createSeededRandom(1).bytes(6)], [114, 240, 253, 57, 96, 112]);
});

const randoms: Record<string, Random> = { seeded: createSeededRandom(42), real: realRandom };
for (const [name, random] of Object.entries(randoms)) {
  test(`${name} numbers are spread evenly`, () => {
    const draws = 20_000;
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let count = 0; count < draws; count += 1) buckets[random.int(10)]! += 1;
    // The bound is passed by chance once in ten million runs: chi-square, nine degrees of freedom.
    const expected = draws / buckets.length;
    const spread = buckets.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    assert.ok(spread < 50, `${buckets.join(" ")} has a chi-square of ${spread}`);
    const ones = random.bytes(4_000).reduce((sum, byte) => sum + byte.toString(2).replaceAll("0", "").length, 0);
    assert.ok(Math.abs(ones - 16_000) < 600, `${ones} of 32000 bits are set`);
  });

  test(`${name} numbers stay within their bounds`, () => {
    const property = fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (below) => {
      const drawn = random.int(below);
      const next = random.next();
      return Number.isInteger(drawn) && drawn >= 0 && drawn < below && next >= 0 && next < 1;
    });
    fc.assert(property);
    assert.equal(random.bytes(0).length, 0);
    assert.equal(random.bytes(33).length, 33);
  });
}

test("jitter stays within its share and uses all of it", () => {
  const random = createSeededRandom(3);
  const drawn = Array.from({ length: 2_000 }, () => jitter(random, 1_000, 0.2));
  assert.ok(Math.min(...drawn) >= 800 && Math.min(...drawn) < 810);
  assert.ok(Math.max(...drawn) <= 1_200 && Math.max(...drawn) > 1_190);
  assert.equal(jitter(random, 1_000, 0), 1_000);
});
