import assert from "node:assert/strict";
import { test } from "node:test";
import { createByteBudget } from "./byte-budget.ts";

test("a client holds bytes up to its bound, and gives them back", () => {
  const budget = createByteBudget({ ofClient: 10, ofAll: 100 });
  const [one, more, other] = [budget.open("one"), budget.open("one"), budget.open("other")];
  assert.deepEqual([one.resize(6), more.resize(4), more.resize(5)], [true, true, false]);
  assert.deepEqual([other.resize(11), other.resize(10)], [false, true]);
  assert.deepEqual([one.bytes, more.bytes, other.bytes], [6, 4, 10]);
  assert.deepEqual([one.resize(0), more.resize(10), more.resize(11)], [true, true, false]);
});

test("clients that take all they get leave room for one more", () => {
  const budget = createByteBudget({ ofClient: 1_000, ofAll: 2_000 });
  let all = 0;
  for (let n = 0; n < 8; n += 1) {
    const greedy = budget.open(`${n}`);
    while (greedy.resize(greedy.bytes + 1));
    all += greedy.bytes;
  }
  assert.ok(all < 2_000);
  assert.ok(budget.open("next").resize(1));
});
