import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { sleep } from "../../runtime/clock.ts";
import { type Fetching, readAhead } from "./blocks.ts";

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
        for await (const number of readAhead(5n, 4n + BigInt(count), { width, bytes: 1 }, fetch, never))
          given.push(number);
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
  const signals = new Map<bigint, AbortSignal>();
  const fetch = async (number: bigint, { signal }: Fetching) => {
    signals.set(number, signal);
    if (number === 3n) throw new Error("three");
    return number;
  };
  const given: bigint[] = [];
  await assert.rejects(async () => {
    for await (const number of readAhead(1n, 9n, { width: 4, bytes: 1 }, fetch, never)) given.push(number);
  }, /three/);
  assert.deepEqual(given, [1n, 2n]);
  for (const given of [1n, 2n]) signals.delete(given);
  assert.equal(signals.size, 4);
  for (const signal of signals.values()) assert.ok(signal.aborted);
});

test("what waits for its turn stays within its bytes, and all of it still comes once and in order", async () => {
  const cases = fc.record({
    seed: fc.integer(),
    sizes: fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 40 }),
    mostBytes: fc.integer({ min: 1, max: 1_000 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, sizes, mostBytes }) => {
      const clock = createVirtualClock();
      const random = createSeededRandom(seed);
      const held = new Map<bigint, number>();
      const given: bigint[] = [];
      const fetch = async (number: bigint, { signal, took }: Fetching) => {
        signal.addEventListener("abort", () => held.delete(number));
        for (let left = sizes[Number(number)] ?? 0; left > 0; left -= 100) {
          await sleep(clock, random.int(100), signal);
          const bytes = Math.min(left, 100);
          held.set(number, (held.get(number) ?? 0) + bytes);
          took(bytes);
        }
        return number;
      };
      let most = 0;
      const reading = (async () => {
        const bounds = { width: 8, bytes: mostBytes };
        for await (const number of readAhead(0n, BigInt(sizes.length) - 1n, bounds, fetch, never)) {
          given.push(number);
          await sleep(clock, random.int(50));
          const waiting = [...held].filter(([each]) => each !== number).reduce((sum, [, bytes]) => sum + bytes, 0);
          most = Math.max(most, waiting);
          held.delete(number);
        }
      })();
      await clock.advance(1_000 * (sizes.length + 1));
      await reading;
      assert.deepEqual(
        given,
        sizes.map((_, index) => BigInt(index)),
      );
      assert.ok(most <= mostBytes, `${most} of ${mostBytes}`);
    }),
    { numRuns: runs(20, 1_000) },
  );
});
