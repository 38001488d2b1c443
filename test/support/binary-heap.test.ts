import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createHeap } from "./binary-heap.ts";
import { runs } from "./runs.ts";

test("a heap gives what a sorted list would give, whatever is done to it", () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 0, max: 20 }).map((item) => ({ push: item })) },
    { weight: 4, arbitrary: fc.constant("pop" as const) },
    { weight: 1, arbitrary: fc.constant("clear" as const) },
  );
  const property = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const heap = createHeap<number>((a, b) => a - b);
    let sorted: number[] = [];
    for (const action of steps) {
      if (action === "pop") assert.equal(heap.pop(), sorted.shift());
      else if (action === "clear") {
        heap.clear();
        sorted = [];
      } else {
        heap.push(action.push);
        sorted = [...sorted, action.push].sort((a, b) => a - b);
      }
      assert.equal(heap.peek(), sorted[0]);
      assert.equal(heap.size, sorted.length);
    }
  });
  fc.assert(property, { numRuns: runs(100, 10_000) });
});

test("the order is the caller's", () => {
  const heap = createHeap<string>((a, b) => b.length - a.length);
  for (const word of ["aa", "a", "aaa"]) heap.push(word);
  assert.deepEqual([heap.pop(), heap.pop(), heap.pop(), heap.pop()], ["aaa", "aa", "a", undefined]);
});
