import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { realClock, sleep } from "./clock.ts";
import { invariant } from "./invariant.ts";
import type { Priority } from "./lanes.ts";
import { type Log, silentLog } from "./log.ts";
import { done, type Outcome, outcomeKinds, recheck, stalled, waiting } from "./outcome.ts";
import {
  createQueue,
  type QueueOptions,
  queueBackoffFirstMs,
  queueBackoffMostMs,
  queueSliceKeys,
  queueStalledRecheckMs,
} from "./queue.ts";

function setUp(work: QueueOptions["work"], more: Partial<QueueOptions> = {}) {
  const clock = createVirtualClock();
  const abort = new AbortController();
  const random = createSeededRandom(1);
  const queue = createQueue({ name: "test", work, clock, random, log: silentLog, ...more });
  return { clock, abort, queue, ended: queue.run(abort.signal) };
}

test("a key added many times before its run is run once", async () => {
  const seen: string[] = [];
  const { clock, queue } = setUp(async (key) => {
    seen.push(key);
    return done();
  });
  assert.equal(queue.add("a"), "added");
  assert.equal(queue.add("a"), "merged");
  queue.add("b");
  await clock.settle();
  assert.deepEqual(seen, ["a", "b"]);
  assert.equal(queue.size, 0);
  assert.equal(queue.counts.merged, 1);
});

test("work never starts inside the call that adds its key", async () => {
  const order: string[] = [];
  const { clock, queue } = setUp(async () => {
    order.push("worked");
    return done();
  });
  await clock.settle();
  queue.add("a");
  order.push("added");
  await clock.settle();
  assert.deepEqual(order, ["added", "worked"]);
});

test("a key added during its run is run again afterwards", async () => {
  let count = 0;
  const { clock, queue } = setUp(async () => {
    count += 1;
    if (count === 1) queue.add("a");
    return done();
  });
  queue.add("a");
  await clock.settle();
  assert.equal(count, 2);
});

test("failed and waiting keys come back after growing, jittered, bounded pauses", async () => {
  for (const outcome of [() => waiting("chain", "no node answers"), () => assert.fail("broken")]) {
    const at: number[] = [];
    const { clock, queue } = setUp(async () => {
      at.push(clock.monotonicMs());
      return outcome();
    });
    queue.add("a");
    await clock.advance(20 * queueBackoffMostMs);
    const pauses = at.slice(1).map((ms, index) => ms - at[index]!);
    pauses.forEach((pauseMs, index) => {
      const base = Math.min(queueBackoffFirstMs * 2 ** index, queueBackoffMostMs);
      assert.ok(pauseMs >= 0.8 * base && pauseMs <= 1.2 * base, `pause ${index} was ${pauseMs} ms, base ${base}`);
    });
    assert.ok(pauses.length > 15);
    assert.ok(new Set(pauses.slice(-5)).size > 1, "the pauses are all the same");
  }
});

test("a paused key is woken early by an addition, and a success forgets its failures", async () => {
  let outcome: Outcome = waiting("operator", "not there");
  const { clock, queue } = setUp(async () => outcome);
  queue.add("a");
  await clock.settle();
  assert.equal(queue.counts.delayed, 1);
  outcome = recheck(60_000);
  queue.add("a");
  await clock.settle();
  assert.deepEqual(queue.counts.outcomes, { done: 0, waiting: 1, stalled: 0, failed: 0, recheck: 1 });
  outcome = waiting("operator", "not there");
  await clock.advance(60_000);
  const { outcomes } = queue.counts;
  assert.deepEqual([outcomes.waiting, outcomes.recheck], [2, 1]);
  await clock.advance(1.2 * queueBackoffFirstMs);
  assert.equal(queue.counts.outcomes.waiting, 3, "its pause did not begin anew");
});

test("every kind of outcome is counted", async () => {
  const outcomes: Outcome[] = [done(), recheck(1e9), waiting("x", "y"), stalled("z")];
  const { clock, queue } = setUp(async (key) => outcomes[Number(key)] ?? assert.fail("boom"));
  for (const key of ["0", "1", "2", "3", "4"]) queue.add(key);
  await clock.settle();
  assert.deepEqual(queue.counts.outcomes, Object.fromEntries(outcomeKinds.map((kind) => [kind, 1])));
  assert.equal(queue.counts.delayed, 4);
});

test("a stalled key is looked at again after a quarter of an hour", async () => {
  let count = 0;
  const { clock, queue } = setUp(async () => {
    count += 1;
    return stalled("the operator must choose");
  });
  queue.add("a");
  await clock.advance(0.7 * queueStalledRecheckMs);
  assert.equal(count, 1);
  await clock.advance(0.6 * queueStalledRecheckMs);
  assert.equal(count, 2);
});

test("a full queue rejects new keys, keeps the ones it has, and counts what it rejected", async () => {
  const { queue } = setUp(async () => recheck(1e9), { maxKeys: 2 });
  assert.deepEqual(
    ["a", "b", "c", "a"].map((key) => queue.add(key)),
    ["added", "added", "refused", "merged"],
  );
  assert.equal(queue.counts.refused, 1);
});

test("urgent keys go first, yet no lane waits for ever", async () => {
  const order: string[] = [];
  const { clock, queue } = setUp(
    async (key) => {
      order.push(key);
      if (key.startsWith("h") && order.length < 500) queue.add(`h${order.length}`, "high");
      return done();
    },
    { concurrency: 1 },
  );
  for (let index = 0; index < 5; index++) queue.add(`l${index}`, "low");
  for (let index = 0; index < 5; index++) queue.add(`n${index}`, "normal");
  queue.add("h", "high");
  await clock.settle();
  assert.ok(order.indexOf("h") < 3, "the urgent key waited");
  const lastLow = order.indexOf("l4");
  assert.ok(lastLow >= 0 && lastLow < 16 * 6, `the last low key ran as number ${lastLow}`);
});

test("a waiting key that becomes urgent overtakes the others", async () => {
  const order: string[] = [];
  const { clock, queue } = setUp(
    async (key) => {
      order.push(key);
      return done();
    },
    { concurrency: 1 },
  );
  for (const key of ["a", "b", "c", "d"]) queue.add(key, "low");
  queue.add("d", "high");
  await clock.settle();
  assert.deepEqual(order, ["d", "a", "b", "c"]);
});

test("an aborted queue ends when the runs under way have ended, and starts no other", async () => {
  const started: string[] = [];
  const { clock, queue, abort, ended } = setUp(
    async (key) => {
      started.push(key);
      await sleep(clock, 1_000);
      return done();
    },
    { concurrency: 1 },
  );
  let over = false;
  void ended.then(() => {
    over = true;
  });
  queue.add("a");
  queue.add("b");
  await clock.settle();
  abort.abort();
  await clock.advance(999);
  assert.equal(over, false);
  await clock.advance(10_000);
  assert.equal(over, true);
  assert.deepEqual(started, ["a"]);
  assert.equal(queue.size, 1, "the key that did not run is still known");
});

test("a broken invariant ends the queue at once instead of being retried", async () => {
  let count = 0;
  const { clock, queue, ended } = setUp(
    async () => {
      count += 1;
      invariant(count === 0, "reserved more than there is");
      return done();
    },
    { concurrency: 1 },
  );
  queue.add("a");
  queue.add("b");
  await assert.rejects(ended, { name: "InvariantError" });
  assert.equal(clock.pendingTimers, 0, "a timer that is left behind keeps the process from ending");
  await clock.advance(1e9);
  assert.equal(count, 1);
});

test("a flood of quick keys lets the event loop breathe", async () => {
  const abort = new AbortController();
  let breaths = 0;
  let left = 20_000;
  const queue = createQueue({
    name: "flood",
    clock: {
      ...realClock,
      yield() {
        breaths += 1;
        return realClock.yield();
      },
    },
    random: createSeededRandom(1),
    log: silentLog,
    work: async () => {
      left -= 1;
      if (left === 0) abort.abort();
      return done();
    },
  });
  for (let index = 0; index < 20_000; index++) queue.add(String(index));
  await queue.run(abort.signal);
  assert.ok(breaths >= 20_000 / queueSliceKeys - 1, `${breaths} breaths`);
});

test("keys whose work is slow before its first await yield to the event loop after each few milliseconds", async () => {
  const abort = new AbortController();
  const log: string[] = [];
  let nowMs = 0;
  const clock = {
    ...realClock,
    monotonicMs: () => nowMs,
    yield() {
      log.push("yield");
      return realClock.yield();
    },
  };
  const work = async (key: string) => {
    nowMs += 5;
    log.push(key);
    if (key === "5") abort.abort();
    return done();
  };
  const queue = createQueue({ name: "slow", clock, random: createSeededRandom(1), log: silentLog, work });
  for (let index = 1; index <= 5; index += 1) queue.add(String(index));
  await queue.run(abort.signal);
  assert.deepEqual(log, ["1", "2", "yield", "3", "4", "yield", "5"]);
});

test("a failure is logged with its key and how often it was tried", async () => {
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (_, fields) => void lines.push(fields?.["key"], fields?.["attempts"]) };
  const { clock, queue } = setUp(async () => assert.fail("no"), { log });
  queue.add("order/1");
  await clock.settle();
  assert.deepEqual(lines, ["order/1", 1]);
});

/** One random history: additions at random times with random priorities, runs that take random time and end anyhow. */
test("no key runs twice at once, none is forgotten, none starves (model)", async () => {
  let explored = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.integer({ min: 1, max: 4 }),
      fc.array(
        fc.record({
          key: fc.integer({ min: 0, max: 5 }).map(String),
          priority: fc.constantFrom<Priority>("high", "normal", "low"),
          pauseMs: fc.integer({ min: 0, max: 3_000 }),
        }),
        { minLength: 1, maxLength: 40 },
      ),
      async (seed, concurrency, additions) => {
        const random = createSeededRandom(seed);
        const underWay = new Set<string>();
        /** Model: a key is owed a look from the moment it is added until a run that began later ends it. */
        const owedSince = new Map<string, number>();
        const { clock, queue, abort, ended } = setUp(
          async (key) => {
            assert.ok(!underWay.has(key), `${key} runs twice at once`);
            underWay.add(key);
            assert.ok(underWay.size <= concurrency, "more runs at once than allowed");
            const owed = owedSince.get(key);
            if (owed !== undefined) {
              const waitedMs = clock.monotonicMs() - owed;
              // Six keys, each run at most 500 ms: whatever the lanes, a turn comes round within this.
              assert.ok(waitedMs <= 6 * 16 * 500, `${key} waited ${waitedMs} ms`);
              owedSince.delete(key);
            }
            await sleep(clock, random.int(500));
            underWay.delete(key);
            return randomOutcome(random.int(5));
          },
          { concurrency, random },
        );
        for (const { key, priority, pauseMs } of additions) {
          if (!owedSince.has(key)) owedSince.set(key, clock.monotonicMs());
          assert.notEqual(queue.add(key, priority), "refused");
          await clock.advance(pauseMs);
        }
        await clock.advanceUntil(() => owedSince.size === 0 && underWay.size === 0);
        const { ready, running, delayed } = queue.counts;
        assert.equal(ready + running + delayed, queue.size);
        abort.abort();
        await clock.advance(1_000);
        await ended;
        explored += 1;
      },
    ),
    { numRuns: runs(60, 3_000) },
  );
  assert.equal(explored, runs(60, 3_000));
});

function randomOutcome(draw: number): Outcome {
  if (draw === 0) return recheck(700);
  if (draw === 1) return waiting("luck", "not yet");
  if (draw === 2) return stalled("hm");
  if (draw === 3) throw new Error("unlucky");
  return done();
}
