import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./eventually.ts";

test("a look that never settles is given up at the limit, and the error names the condition", async () => {
  const never = () => new Promise<never>(() => undefined);
  await assert.rejects(eventually("a pod is ready", never, 20), {
    message: "a pod is ready: not seen within 20 ms (the last look has not settled)",
  });
});

test("a condition that stays false fails with the last error of a look", async () => {
  const failing = () => Promise.reject(new Error("no route"));
  await assert.rejects(eventually("an answer", failing, 20), {
    message: "an answer: not seen within 20 ms (last: Error: no route)",
  });
  await assert.rejects(
    eventually("a count", () => false, 0),
    { message: "a count: not seen within 0 ms" },
  );
});

test("the first look that is neither false nor undefined ends the wait with what it saw", async () => {
  const looks: (() => false | Promise<number | undefined>)[] = [
    () => assert.fail("not yet"),
    () => false,
    async () => undefined,
    async () => 0,
  ];
  assert.equal(await eventually("a number", () => looks.shift()?.()), 0);
  assert.deepEqual(looks, []);
});
