import assert from "node:assert/strict";
import { test } from "node:test";
import { rpcMirrorSingles } from "../runtime/limits.ts";
import { createEscrowDues } from "./escrow-dues.ts";

const dues = (entries: Record<string, readonly [atMs: number, spentAt?: bigint]>) => {
  const created = createEscrowDues(1_000);
  for (const [key, [atMs, spentAt]] of Object.entries(entries)) created.plan(key, { atMs, spentAt });
  return created;
};

test("what is due comes in the order in which it fell due, with what soon will be", () => {
  const some = dues({ late: [500], soon: [590], first: [400], second: [450] });
  assert.deepEqual(some.dueBy(399, 0n), []);
  assert.deepEqual(some.dueBy(500, 0n), ["first", "second", "late", "soon"]);
  assert.deepEqual(some.dueBy(460, 0n), ["first", "second", "late"]);
  assert.equal(some.nextMs(), 400);
});

test("an escrow is due when the chain has come to the height at which it runs out", () => {
  const some = dues({ spent: [900, 77n], other: [900] });
  assert.deepEqual([some.isReachedBy(76n), some.dueBy(100, 76n)], [false, []]);
  assert.deepEqual([some.isReachedBy(77n), some.dueBy(100, 77n)], [true, ["spent"]]);
});

test("what is hastened is never put off, and keeps its height", () => {
  const some = dues({ one: [900, 77n] });
  some.hasten("one", 950);
  assert.equal(some.nextMs(), 900);
  some.hasten("one", 300);
  assert.deepEqual([some.nextMs(), some.isReachedBy(77n)], [300, true]);
});

test("a clock that was set back puts nothing off", () => {
  assert.deepEqual(dues({ one: [5_000] }).dueBy(3_999, 0n), ["one"]);
  assert.deepEqual(dues({ one: [5_000] }).dueBy(4_000, 0n), []);
});

test("many that fall due at different times are soon read together, so that the chain's lists are read once an interval", () => {
  const intervalMs = 1_000;
  const created = createEscrowDues(intervalMs);
  for (let each = 0; each < 500; each += 1) created.plan(`${each}`, { atMs: 2 * each });
  let lists = 0;
  for (let nowMs = 0; nowMs < 10 * intervalMs; nowMs = Math.max(nowMs + 1, created.nextMs())) {
    const due = created.dueBy(nowMs, 0n);
    if (due.length > rpcMirrorSingles) lists += 1;
    for (const key of due) created.begin(key, nowMs);
  }
  assert.ok(lists <= 10, `${lists}`);
});
