import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { contestedWithinMs, contestedWrites, createWritePace } from "./write-pace.ts";

const most = contestedWrites;
const withinMs = contestedWithinMs;

test("a contested object is paused until the first of its writes is a minute old", async () => {
  const clock = createVirtualClock();
  const pace = createWritePace(clock);
  for (let turn = 1; turn < most; turn += 1) {
    pace.wrote("it");
    await clock.advance(10);
  }
  assert.equal(pace.pauseMs("it"), 0);
  pace.wrote("it");
  assert.equal(pace.pauseMs("it"), withinMs - 10 * (most - 1));
  assert.equal(pace.pauseMs("another"), 0);
  await clock.advance(pace.pauseMs("it"));
  assert.equal(pace.pauseMs("it"), 0);
  // One more, and it is too much again: a fight goes on at this pace and no faster.
  pace.wrote("it");
  assert.equal(pace.pauseMs("it"), 10);
});

test("an object that is written rarely is never paused", async () => {
  const clock = createVirtualClock();
  const pace = createWritePace(clock);
  for (let turn = 0; turn < 5 * most; turn += 1) {
    pace.wrote("it");
    assert.equal(pace.pauseMs("it"), 0);
    await clock.advance(Math.ceil(withinMs / (most - 1)));
  }
});

test("objects that are not written any more are forgotten", async () => {
  const clock = createVirtualClock();
  const pace = createWritePace(clock);
  for (let at = 0; at < 100; at += 1) pace.wrote(`object ${at}`);
  await clock.advance(withinMs);
  pace.wrote("it");
  assert.equal(pace.size, 1);
});
