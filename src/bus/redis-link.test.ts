import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../runtime/clock.ts";
import { limits } from "../runtime/limits.ts";
import { silentLog } from "../runtime/log.ts";
import { createSeededRandom } from "../runtime/random.ts";
import { createRedisLink } from "./redis-link.ts";

test("attempts become rarer up to a bound, each at a moment of its own", async () => {
  const clock = createVirtualClock();
  const attemptsMs: number[] = [];
  const reasons: string[] = [];
  const link = createRedisLink({
    finder: {
      find() {
        attemptsMs.push(clock.monotonicMs());
        return Promise.reject(new Error(attemptsMs.length < 5 ? "refused" : "unknown host"));
      },
      description: "nowhere",
    },
    work: () => [],
    clock,
    random: createSeededRandom(1),
    limits,
    log: { ...silentLog, error: (_, fields) => void reasons.push(String(fields?.["reason"])) },
  });
  await clock.advance(60_000);
  const pauses = attemptsMs.slice(1).map((atMs, index) => atMs - (attemptsMs[index] ?? 0));
  for (const [index, pauseMs] of pauses.entries()) {
    const meantMs = Math.min(limits.busReconnectFirstMs * 2 ** index, limits.busReconnectMostMs);
    assert.ok(Math.abs(pauseMs - meantMs) <= meantMs * 0.2 + 1e-6, `pause ${index}: ${pauseMs} ms`);
  }
  assert.ok(pauses.length >= 15);
  assert.equal(new Set(pauses).size, pauses.length);
  // Said once, and once more when the reason changed.
  assert.deepEqual(reasons, [
    "the Redis bus at nowhere cannot be reached: refused",
    "the Redis bus at nowhere cannot be reached: unknown host",
  ]);
  await link.close();
  assert.equal(clock.pendingTimers, 0);
});

test("closing ends a pause at once", async () => {
  const clock = createVirtualClock();
  const finder = { find: () => Promise.reject(new Error("refused")), description: "nowhere" };
  const link = createRedisLink({
    finder,
    work: () => [],
    clock,
    random: createSeededRandom(1),
    limits,
    log: silentLog,
  });
  await clock.advance(10_000);
  await link.close();
  assert.equal(clock.pendingTimers, 0);
  assert.deepEqual(link.state, { state: "connecting", address: "nowhere", reason: "the bus is closed" });
});
