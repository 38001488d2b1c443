import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import { eventually } from "../../test/support/eventually.ts";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { formatTime, realClock, sleep, withDeadline } from "./clock.ts";

test("virtual timers fire in the order of their times, and of their making when those are equal", async () => {
  const delays = fc.array(fc.record({ delayMs: fc.nat(50), cancel: fc.boolean() }), { maxLength: 20 });
  const property = fc.asyncProperty(delays, async (timers) => {
    const clock = createVirtualClock();
    const fired: { index: number; atMs: number }[] = [];
    for (const [index, { delayMs, cancel }] of timers.entries()) {
      const timer = clock.timer(delayMs, () => fired.push({ index, atMs: clock.monotonicMs() }));
      if (cancel) timer.cancel();
    }
    await clock.advance(50);
    const wanted = timers
      .map(({ delayMs, cancel }, index) => ({ index, atMs: delayMs, cancel }))
      .filter(({ cancel }) => !cancel)
      .sort((a, b) => a.atMs - b.atMs || a.index - b.index)
      .map(({ index, atMs }) => ({ index, atMs }));
    assert.deepEqual(fired, wanted);
    assert.equal(clock.pendingTimers, 0);
    assert.equal(clock.monotonicMs(), 50);
  });
  await fc.assert(property, { numRuns: runs(50, 2_000) });
});

test("a timer set by a timer fires in the same advance, if its time has come", async () => {
  const clock = createVirtualClock(0);
  const fired: number[] = [];
  clock.timer(10, () => {
    clock.timer(5, () => fired.push(clock.now()));
    clock.timer(50, () => fired.push(clock.now()));
  });
  await clock.advance(20);
  assert.deepEqual(fired, [15]);
  assert.equal(clock.pendingTimers, 1);
});

test("a timer can cancel another one that is due at the same time, and a fired one can be cancelled again", async () => {
  const clock = createVirtualClock();
  const fired: string[] = [];
  const first = clock.timer(5, () => {
    fired.push("first");
    second.cancel();
    second.cancel();
  });
  const second = clock.timer(5, () => fired.push("second"));
  await clock.advance(5);
  first.cancel();
  assert.deepEqual(fired, ["first"]);
  assert.equal(clock.pendingTimers, 0);
});

test("advancing runs what waits between two timers", async () => {
  const clock = createVirtualClock();
  const seen: number[] = [];
  const loop = (async () => {
    for (let round = 0; round < 3; round += 1) {
      await sleep(clock, 10);
      await clock.yield();
      seen.push(clock.monotonicMs());
    }
  })();
  await clock.advance(30);
  await loop;
  assert.deepEqual(seen, [10, 20, 30]);
});

test("advancing until a condition holds stops there, and gives up when nothing is left to happen", async () => {
  const clock = createVirtualClock();
  let count = 0;
  const tick = () => {
    count += 1;
    clock.timer(1_000, tick);
  };
  clock.timer(1_000, tick);
  await clock.advanceUntil(() => count === 3);
  assert.equal(clock.monotonicMs(), 3_000);
  await clock.advanceUntil(() => true);
  assert.equal(clock.monotonicMs(), 3_000);
  await assert.rejects(
    clock.advanceUntil(() => false, 5_000),
    /nothing more happens within 5000 ms/,
  );
  await assert.rejects(
    createVirtualClock().advanceUntil(() => false),
    /nothing more happens/,
  );
});

test("settling lets everything run that is ready, without moving time", async () => {
  const clock = createVirtualClock();
  const seen: string[] = [];
  clock.timer(1, () => seen.push("timer"));
  const work = (async () => {
    for (let round = 0; round < 20; round += 1) await clock.yield();
    seen.push("done");
  })();
  await clock.settle();
  assert.deepEqual(seen, ["done"]);
  assert.equal(clock.monotonicMs(), 0);
  await work;
});

test("a jump moves the wall clock and nothing else", async () => {
  const clock = createVirtualClock(1_000);
  const fired: number[] = [];
  clock.timer(100, () => fired.push(clock.now()));
  clock.jump(-500);
  assert.deepEqual([clock.now(), clock.monotonicMs()], [500, 0]);
  await clock.advance(99);
  assert.deepEqual(fired, []);
  await clock.advance(1);
  assert.deepEqual(fired, [600]);
});

test("a sleep ends early when it is aborted, and leaves nothing behind either way", async () => {
  const clock = createVirtualClock();
  const abort = new AbortController();
  const reason = new Error("enough");
  const asleep = assert.rejects(sleep(clock, 1_000, abort.signal), reason);
  abort.abort(reason);
  await asleep;
  assert.equal(clock.pendingTimers, 0);
  await assert.rejects(sleep(clock, 1_000, abort.signal), reason, "already aborted");
  assert.equal(clock.pendingTimers, 0);

  const { signal } = new AbortController();
  const slept = sleep(clock, 1_000, signal);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await clock.advance(1_000);
  await slept;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("work in time gives its result, late work what is said in its place", async () => {
  const clock = createVirtualClock();
  const slow = (ms: number) => sleep(clock, ms).then(() => "work");
  const inTime = withDeadline(clock, 100, slow(99), () => "late");
  const late = withDeadline(clock, 100, slow(101), () => "late");
  const refused = assert.rejects(
    withDeadline(clock, 100, slow(101), () => {
      throw new Error("too late");
    }),
    /too late/,
  );
  await clock.advance(100);
  assert.deepEqual(await Promise.all([inTime, late]), ["work", "late"]);
  await refused;
});

test("work that fails in time fails, work that fails late is not heard, and no timer stays", async () => {
  const clock = createVirtualClock();
  const failing = (ms: number) =>
    sleep(clock, ms).then(() => {
      throw new Error("broken");
    });
  const inTime = assert.rejects(
    withDeadline(clock, 100, failing(50), () => "late"),
    /broken/,
  );
  const late = withDeadline(clock, 100, failing(150), () => "late");
  await clock.advance(200);
  await inTime;
  assert.equal(await late, "late");
  assert.equal(clock.pendingTimers, 0);
});

test("the real clock keeps time, fires, cancels and yields", async () => {
  const before = realClock.monotonicMs();
  let fired = 0;
  const cancelled = realClock.timer(1, () => assert.fail("cancelled"));
  cancelled.cancel();
  realClock.timer(5, () => {
    fired = realClock.monotonicMs();
  });
  await eventually("the timer", () => fired > 0);
  // Node may fire up to a millisecond early.
  assert.ok(fired - before >= 4, `${fired - before} ms`);
  const [earliestMs, nowMs, latestMs] = [Date.now(), realClock.now(), Date.now()];
  assert.ok(earliestMs <= nowMs && nowMs <= latestMs);
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await realClock.yield();
  assert.equal(turned, true);
});

test("a timer beyond what Node can count does not fire at once", async () => {
  const fired: string[] = [];
  const timer = realClock.timer(2 ** 40, () => fired.push("the far one"));
  realClock.timer(5, () => fired.push("the near one"));
  await eventually("the near one", () => fired.length > 0);
  timer.cancel();
  assert.deepEqual(fired, ["the near one"]);
});

test("times are written in one way", () => {
  assert.equal(formatTime(1_794_732_900_000), "2026-11-15T08:55:00.000Z");
});
