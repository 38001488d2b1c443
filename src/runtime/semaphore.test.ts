import assert from "node:assert/strict";
import { test } from "node:test";
import { createSemaphore } from "./semaphore.ts";

test("no more than so many hold a slot, and the others get theirs in the order of the line", async () => {
  const slots = createSemaphore(2);
  const { signal } = new AbortController();
  const order: number[] = [];
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const giveBack = await slots.acquire(signal);
      order.push(index);
      most = Math.max(most, slots.taken);
      await new Promise((resolve) => setImmediate(resolve));
      giveBack();
    }),
  );
  assert.equal(most, 2);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.deepEqual([slots.taken, slots.waiting], [0, 0]);
});

test("low priority gets what others leave, behind all that wait, and never more than its share", async () => {
  const slots = createSemaphore(3, 2);
  const { signal } = new AbortController();
  const entered: string[] = [];
  const enter = async (name: string, priority?: "low") => {
    const giveBack = await slots.acquire(signal, priority);
    entered.push(name);
    return giveBack;
  };
  const lows = ["low 1", "low 2", "low 3"].map((name) => enter(name, "low"));
  await Promise.all(lows.slice(0, 2));
  assert.equal(slots.taken, 2);
  const first = await enter("first");
  const second = enter("second");
  assert.deepEqual(entered, ["low 1", "low 2", "first"], "a slot is left for others");
  first();
  (await second)();
  assert.deepEqual([slots.taken, slots.waiting], [2, 1]);
  (await lows[0])?.();
  for (const giveBack of await Promise.all(lows.slice(1))) giveBack();
  assert.deepEqual(entered, ["low 1", "low 2", "first", "second", "low 3"]);
  assert.deepEqual([slots.taken, slots.waiting], [0, 0]);
});

test("who leaves the line holds nothing, and nobody else waits for him", async () => {
  const slots = createSemaphore(1);
  const giveBack = await slots.acquire(new AbortController().signal);
  const leaver = new AbortController();
  const left = assert.rejects(slots.acquire(leaver.signal), /no longer/);
  const next = slots.acquire(new AbortController().signal);
  leaver.abort(new Error("no longer"));
  await left;
  assert.equal(slots.waiting, 1);
  giveBack();
  (await next)();
  assert.deepEqual([slots.taken, slots.waiting], [0, 0]);
  await assert.rejects(slots.acquire(leaver.signal), /no longer/);
  assert.throws(giveBack, /a slot is given back once/);
});
