import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { defineController } from "./controller.ts";
import { silentLog } from "./log.ts";
import { done } from "./outcome.ts";
import { changedStatuses, statusEveryMs } from "./throttle.ts";

test("a controller reconciles what it watches, publishes changes at a pace, and ends with its scope", async () => {
  const clock = createVirtualClock();
  const looked: string[] = [];
  let published = 0;
  let isWatching = false;
  const status = changedStatuses(
    clock,
    () => ({ things: { looked } }),
    () => {
      published += 1;
    },
  );
  const controller = defineController({
    name: "things",
    reconcile: async (key) => {
      looked.push(key);
      status.ask();
      return done();
    },
    watch(add, onStop) {
      isWatching = true;
      onStop(() => {
        isWatching = false;
      });
      add("there already");
    },
    status,
    ...{ clock, random: createSeededRandom(1), log: silentLog },
  });
  const stop = new AbortController();
  const cleanups: (() => Promise<void> | void)[] = [];
  const tasks: Promise<void>[] = [];
  controller.start({
    task: (_, work) => void tasks.push(work(stop.signal)),
    onStop: (cleanup) => void cleanups.push(cleanup),
  });
  controller.add("new");
  await clock.advance(1);
  assert.deepEqual(looked.sort(), ["new", "there already"]);
  assert.equal(published, 1);
  await clock.advance(statusEveryMs);
  status.ask();
  stop.abort();
  await Promise.all(tasks);
  for (const cleanup of cleanups) await cleanup();
  await clock.advance(2 * statusEveryMs);
  assert.ok(!isWatching && published <= 2);
});
