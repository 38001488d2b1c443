import assert from "node:assert/strict";
import { test } from "node:test";
import { openBoundary } from "../../src/runtime/boundary.ts";
import { createCountingBoundary, SimulatedCrash } from "./counting-boundary.ts";

test("crossings are counted in order, and without a chosen one nothing crashes", () => {
  const boundary = createCountingBoundary();
  boundary.cross("journal", "commit:before");
  boundary.cross("broadcast", "send:after");
  assert.deepEqual(boundary.crossings, ["journal commit:before", "broadcast send:after"]);
  assert.equal(boundary.crashed, false);
});

test("the program crashes at the chosen crossing and gets no further, though it catches the crash", () => {
  for (let chosen = 1; chosen <= 3; chosen += 1) {
    const boundary = createCountingBoundary(chosen);
    const passed: number[] = [];
    for (let crossing = 1; crossing <= 5; crossing += 1) {
      try {
        boundary.cross("kube", `apply ${crossing}`);
        passed.push(crossing);
      } catch (error) {
        assert.ok(error instanceof SimulatedCrash);
        assert.equal(error.message, `crash at kube apply ${crossing}`);
      }
    }
    assert.deepEqual(passed, [1, 2].slice(0, chosen - 1));
    assert.equal(boundary.crossings.length, chosen, "what a dead program tries is not counted");
    assert.equal(boundary.crashed, true);
  }
});

test("the way to crash can be chosen", () => {
  const crashes: string[] = [];
  const boundary = createCountingBoundary(1, (at) => {
    crashes.push(at);
    throw new Error("killed");
  });
  assert.throws(() => boundary.cross("journal", "commit:after"), /killed/);
  assert.deepEqual(crashes, ["journal commit:after"]);
});

test("in production nothing stands at the boundaries", () => {
  assert.equal(openBoundary.cross("journal", "commit:before"), undefined);
});
