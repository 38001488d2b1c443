import assert from "node:assert/strict";
import { test } from "node:test";
import { createInFlight } from "./bidding.ts";

const { signal } = new AbortController();
const pending = (until: AbortSignal) =>
  new Promise<never>((_, reject) => until.addEventListener("abort", () => reject(until.reason)));

test("abort(key) → only the work of that key is aborted; abortAll → all of it", async () => {
  const inFlight = createInFlight();
  const [one, other] = [inFlight.run("one", signal, pending), inFlight.run("other", signal, pending)];
  inFlight.abort("one");
  await assert.rejects(one, /the order is gone/);
  inFlight.abortAll();
  await assert.rejects(other, /aborted/);
});

test("no abort → the result; an abort of the caller's signal → its reason", async () => {
  const inFlight = createInFlight();
  assert.equal(await inFlight.run("one", signal, async () => 1), 1);
  const caller = new AbortController();
  const left = inFlight.run("one", caller.signal, pending);
  caller.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
});
