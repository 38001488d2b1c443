import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/runs.ts";
import { createVirtualClock, sleep } from "../../runtime/clock.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import { readAhead } from "./read-ahead.ts";

const never = new AbortController().signal;

test("whatever comes first, things are given out in order, and never more than so many are under way", async () => {
  const cases = fc.record({
    seed: fc.integer(),
    count: fc.integer({ min: 0, max: 40 }),
    width: fc.integer({ min: 1, max: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, count, width }) => {
      const clock = createVirtualClock();
      const random = createSeededRandom(seed);
      let underWay = 0;
      let most = 0;
      const given: bigint[] = [];
      const fetch = async (number: bigint) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await sleep(clock, random.int(100));
        underWay -= 1;
        return number;
      };
      let done = false;
      const reading = (async () => {
        for await (const number of readAhead(5n, 4n + BigInt(count), width, fetch, never)) given.push(number);
        done = true;
      })();
      await clock.advance(100 * (count + 1));
      await reading;
      assert.ok(done);
      assert.deepEqual(
        given,
        Array.from({ length: count }, (_, index) => 5n + BigInt(index)),
      );
      assert.ok(most <= width);
    }),
    { numRuns: runs(20, 1_000) },
  );
});

test("those before a failure are given out, then it is thrown, and the others are given up", async () => {
  const signals: AbortSignal[] = [];
  const fetch = async (number: bigint, signal: AbortSignal) => {
    signals.push(signal);
    if (number === 3n) throw new Error("three");
    return number;
  };
  const given: bigint[] = [];
  await assert.rejects(async () => {
    for await (const number of readAhead(1n, 9n, 4, fetch, never)) given.push(number);
  }, /three/);
  assert.deepEqual(given, [1n, 2n]);
  assert.ok(signals.every(({ aborted }) => aborted));
});
