import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBudget } from "./byte-budget.ts";

test("a client reserves up to its bound, and released bytes can be reserved again", () => {
  const budget = new ByteBudget({ perClient: 10, total: 100, assured: 0 });
  assert.deepEqual([budget.reserve("a", 8), budget.reserve("a", 3), budget.reserve("b", 10)], [true, false, true]);
  budget.release("a", 8);
  assert.deepEqual([budget.reserve("a", 10), budget.used], [true, 20]);
});

test("holdings of a client count together, and each is resized within the client's bound", () => {
  const budget = new ByteBudget({ perClient: 10, total: 100, assured: 0 });
  const [one, more, other] = [budget.open("one"), budget.open("one"), budget.open("other")];
  assert.deepEqual([one.resize(6), more.resize(4), more.resize(5)], [true, true, false]);
  assert.deepEqual([other.resize(11), other.resize(10)], [false, true]);
  assert.deepEqual([one.bytes, more.bytes, other.bytes], [6, 4, 10]);
  assert.deepEqual([one.resize(0), more.resize(10), more.resize(11)], [true, true, false]);
});

test("clients that take all they get leave room for one more", () => {
  const budget = new ByteBudget({ perClient: 1_000, total: 2_000, assured: 0 });
  for (let n = 0; n < 8; n += 1) while (budget.reserve(`${n}`, 1));
  assert.ok(budget.used < 2_000);
  assert.ok(budget.open("next").resize(1));
});

test("a client that takes all at once gets no more than one that takes it in small parts", () => {
  const mostOf = (parts: readonly number[]) => {
    const budget = new ByteBudget({ perClient: 1_024, total: 1_024, assured: 0 });
    for (const bytes of parts) while (budget.reserve("one", bytes));
    return budget.used;
  };
  assert.deepEqual([mostOf([1_024, 512, 1]), mostOf([1])], [512, 512]);
});

test("while the total is used up, only a client with little of it gets more", () => {
  const budget = new ByteBudget({ perClient: 20, total: 20, assured: 2 });
  for (let n = 0; n < 20; n += 1) while (budget.reserve(`${n}`, 1));
  assert.ok(budget.used >= 20);
  assert.deepEqual([budget.reserve("c", 3), budget.reserve("c", 2), budget.reserve("c", 1)], [false, true, false]);
});
