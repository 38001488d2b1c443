import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLinear } from "./cost.ts";

const numbers = Array.from({ length: 4_000 }, (_, at) => at);

test("work that looks at each of its parts once grows with its size", async () => {
  await assertLinear((size) => () => numbers.slice(0, size).reduce((sum, each) => sum + each, 0), numbers.length);
});

test("work that compares each of its parts with each fails", async () => {
  const compare = (size: number) => () => {
    const some = numbers.slice(0, size);
    for (const one of some) some.lastIndexOf(-one - 1);
  };
  await assert.rejects(assertLinear(compare, numbers.length), /µs are more than 24 times/);
});
