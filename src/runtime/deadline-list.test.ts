import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { createDeadlineList } from "./deadline-list.ts";

test("what is not over in time is told of, each at its own time, and what is over is not", async () => {
  const clock = createVirtualClock();
  const late: string[] = [];
  const patience = createDeadlineList<string>(clock, 100, (what) => late.push(what));
  const [first, second] = [patience.begin("first"), patience.begin("second")];
  await clock.advance(50);
  patience.begin("third");
  patience.end(first);
  patience.end(first);
  deepEqual(patience.all(), ["second", "third"]);
  await clock.advance(49);
  deepEqual(late, []);
  await clock.advance(1);
  deepEqual(late, ["second"]);
  patience.end(second);
  await clock.advance(50);
  deepEqual(late, ["second", "third"]);
  equal(clock.pendingTimers, 0, "nothing is waited for");
});

test("one timer serves any number", async () => {
  const clock = createVirtualClock();
  const patience = createDeadlineList<number>(clock, 100, () => undefined);
  for (let n = 0; n < 1_000; n++) patience.end(patience.begin(n));
  equal(clock.pendingTimers, 1);
  await clock.advance(100);
  equal(clock.pendingTimers, 0);
});
