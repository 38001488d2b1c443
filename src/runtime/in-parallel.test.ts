import assert from "node:assert/strict";
import { test } from "node:test";
import { inParallel } from "./in-parallel.ts";

test("results are in the order of the things, and no more than so many are worked on at a time", async () => {
  let [now, most] = [0, 0];
  const doubled = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
    now += 1;
    most = Math.max(most, now);
    for (let turn = 0; turn < item; turn += 1) await new Promise(setImmediate);
    now -= 1;
    return 2 * item;
  });
  assert.deepEqual(doubled, [10, 2, 8, 4, 6]);
  assert.equal(most, 2);
  assert.deepEqual(await inParallel([], 2, async (item) => item), []);
});

test("after a failure nothing more is begun, and what was begun has ended when the failure is thrown", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = inParallel([1, 2, 3, 4, 5, 6], 3, async (item) => {
    begun.push(item);
    for (let turn = 0; turn < item; turn += 1) await new Promise(setImmediate);
    ended.push(item);
    if (item === 1) throw new Error("the first");
  });
  await assert.rejects(work, /the first/);
  assert.deepEqual(
    [begun, ended],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  );
});
