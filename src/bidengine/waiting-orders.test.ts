import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { orderRecheckMs } from "./decision/record.ts";
import { createWaitingOrders, orderRecheckEveryMs, orderRecheckKeys } from "./waiting-orders.ts";

function stage() {
  const clock = createVirtualClock();
  const looked: string[] = [];
  const waits = createWaitingOrders(clock, (key) => void looked.push(key));
  return { clock, looked, waits, tick: () => clock.advance(orderRecheckEveryMs) };
}

test("an order is looked at again when all that it waits for has changed, and not before", async () => {
  const { looked, waits, tick } = stage();
  waits.wait("a", new Set(["room", "wallet"]), waits.mark);
  waits.wait("b", new Set(["room"]), waits.mark);
  waits.wait("c", new Set(), waits.mark);
  waits.changed("room");
  await tick();
  assert.deepEqual(looked, ["b"]);
  waits.changed("wallet");
  await tick();
  assert.deepEqual(looked, ["b", "a"]);
  assert.equal(waits.size, 0);
});

test("what changes while an order is being decided on is not missed", async () => {
  const { looked, waits, tick } = stage();
  const { mark } = waits;
  waits.changed("prices");
  waits.wait("a", new Set(["prices"]), mark);
  await tick();
  assert.deepEqual(looked, ["a"]);
});

test("many are looked at in their turn, the newest first, and none is left out while changes go on", async () => {
  const { looked, waits, tick } = stage();
  const keys = Array.from({ length: 5 * orderRecheckKeys }, (_, index) => `${index}`);
  for (const key of keys) waits.wait(key, new Set(["room"]), waits.mark);
  waits.changed("room");
  for (let turn = 0; turn < 5; turn += 1) {
    await tick();
    // Each gets its no again, and the next change comes at once.
    for (const key of looked.slice(-orderRecheckKeys)) waits.wait(key, new Set(["room"]), waits.mark);
    waits.changed("room");
  }
  assert.equal(looked.length, keys.length, "at a pace");
  assert.deepEqual(looked, keys.toReversed());
});

test("an order waits longer after each failed decision, and longest where the search limit was reached", async () => {
  const { clock, looked, waits } = stage();
  const secondsOf = async (isLimited: boolean) => {
    const key = isLimited ? "limited" : "plain";
    const seconds: number[] = [];
    for (let decisions = 0; decisions < 10; decisions += 1) {
      waits.wait(key, new Set(["room"]), waits.mark, isLimited);
      const [count, fromMs] = [looked.length, clock.monotonicMs()];
      while (looked.length === count) {
        waits.changed("room");
        await clock.advance(1_000);
      }
      seconds.push((clock.monotonicMs() - fromMs) / 1_000);
    }
    return seconds;
  };
  assert.deepEqual(await secondsOf(false), [2, 4, 8, 16, 30, 30, 30, 30, 30, 30]);
  assert.deepEqual(await secondsOf(true), [2, 4, 8, 16, 32, 64, 128, 256, 512, 600]);
  waits.forget("plain");
  waits.wait("plain", new Set(["room"]), waits.mark);
  waits.changed("room");
  await clock.advance(orderRecheckEveryMs);
  assert.equal(looked.at(-1), "plain", "a closed and forgotten order starts anew");
});

test("waiting orders → rechecked periodically without a change; forget() ends that", async () => {
  const { clock, looked, waits } = stage();
  waits.start();
  waits.wait("a", new Set(["prices"]), waits.mark);
  waits.wait("b", new Set(["prices"]), waits.mark);
  waits.forget("b");
  await clock.advance(orderRecheckMs + orderRecheckEveryMs);
  assert.deepEqual(looked, ["a"]);
  waits.stop();
  assert.equal(clock.pendingTimers, 0);
});
