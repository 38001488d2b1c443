/** What paces the follower: the measured block time, and the wait that a wake-up ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import { createBlockTime, rpcBlockTimeFirstMs, rpcBlockTimeLeastMs } from "./block-times.ts";

const second = 1_000_000_000n;
const never = new AbortController().signal;

test("the block time is the network's until it was measured, then comes close to what is seen", () => {
  const blockTime = createBlockTime();
  assert.equal(blockTime.averageMs, rpcBlockTimeFirstMs);
  for (let height = 1n; height <= 60n; height += 1n) blockTime.note(height, height * 2n * second);
  assert.equal(Math.round(blockTime.averageMs), 2_000);
  for (let height = 61n; height <= 120n; height += 1n) blockTime.note(height, height * 5n * second);
  assert.ok(Math.abs(blockTime.averageMs - 5_000) < 200, `${blockTime.averageMs}`);
});

test("a gap between heights is not measured, and one odd header changes little", () => {
  const blockTime = createBlockTime();
  for (let height = 1n; height <= 10n; height += 1n) blockTime.note(height, height * second);
  blockTime.note(500n, 500n * second);
  assert.equal(blockTime.averageMs, 1_000);
  blockTime.note(501n, 500n * second + 3_600n * second);
  assert.ok(blockTime.averageMs < 4_000);
  blockTime.note(502n, 0n);
  assert.ok(blockTime.averageMs >= rpcBlockTimeLeastMs);
});

test("a wait ends in time, at a ring, at once after an earlier ring, and when it is all over", async () => {
  const clock = createVirtualClock();
  const pause = createWakeSignal(clock);
  let ended = 0;
  const wait = (signal = never) => {
    pause.wait(1_000, signal).then(
      () => {
        ended += 1;
      },
      () => undefined,
    );
  };
  wait();
  await clock.advance(999);
  assert.equal(ended, 0);
  await clock.advance(1);
  assert.equal(ended, 1);
  wait();
  pause.notify();
  await clock.settle();
  assert.equal(ended, 2);
  pause.notify();
  wait();
  await clock.settle();
  assert.equal(ended, 3);
  const stopping = new AbortController();
  wait(stopping.signal);
  stopping.abort();
  await clock.settle();
  assert.equal(ended, 4);
  assert.equal(clock.pendingTimers, 0);
});
