import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { createBreaker, rpcBreakerFailures, rpcBreakerFirstMs, rpcBreakerMostMs } from "./rpc-node.ts";

function stage() {
  const clock = createVirtualClock();
  const breaker = createBreaker(clock, createSeededRandom(7));
  const fail = async (times: number) => {
    for (let count = 0; count < times; count += 1) {
      await clock.advance(1);
      breaker.failed(clock.monotonicMs());
    }
  };
  return { clock, breaker, fail };
}

test("a few failures are forgiven, and a success wipes them out", async () => {
  const { breaker, fail } = stage();
  await fail(rpcBreakerFailures - 1);
  assert.equal(breaker.admit(), true);
  breaker.succeeded();
  await fail(rpcBreakerFailures - 1);
  assert.equal(breaker.open, false);
});

test("after too many nothing passes but one call after each pause, and a success opens the way", async () => {
  const { clock, breaker, fail } = stage();
  await fail(rpcBreakerFailures);
  assert.equal(breaker.admit(), false);
  await clock.advance(rpcBreakerFirstMs * 1.2);
  assert.equal(breaker.admit(), true);
  assert.equal(breaker.admit(), false, "the second one waits for what the first finds out");
  breaker.succeeded();
  assert.deepEqual([breaker.admit(), breaker.admit()], [true, true]);
});

test("pauses grow to a bound and are not the same for everybody", async () => {
  const pauses = new Set<number>();
  for (let seed = 0; seed < 5; seed += 1) {
    const clock = createVirtualClock();
    const breaker = createBreaker(clock, createSeededRandom(seed));
    for (let count = 0; count < 30; count += 1) breaker.failed(clock.monotonicMs());
    const before = clock.monotonicMs();
    while (!breaker.admit()) await clock.advance(50);
    pauses.add(clock.monotonicMs() - before);
  }
  assert.ok(pauses.size > 1);
  for (const pauseMs of pauses) {
    assert.ok(pauseMs >= rpcBreakerMostMs * 0.8 && pauseMs <= rpcBreakerMostMs * 1.2 + 50, `${pauseMs}`);
  }
});

test("calls that were under way together and fail together count as one failure", async () => {
  const { clock, breaker } = stage();
  const beganMs = clock.monotonicMs();
  await clock.advance(10);
  for (let count = 0; count < 16; count += 1) breaker.failed(beganMs);
  assert.equal(breaker.failures, 1);
});
