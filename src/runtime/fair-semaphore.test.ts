import assert from "node:assert/strict";
import { test } from "node:test";
import { createFairSemaphore } from "./semaphore.ts";

function stage(most: number) {
  const turns = createFairSemaphore(most);
  const begun: string[] = [];
  const endings = new Map<string, () => void>();
  const come = (place: string, name: string) =>
    turns(place, () => {
      begun.push(name);
      return new Promise<void>((resolve) => endings.set(name, resolve));
    });
  const end = async (name: string) => {
    endings.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { turns, begun, come, end };
}

test("a place with a long line holds up no other", async () => {
  const { begun, come, end } = stage(1);
  for (const name of ["a1", "a2", "a3", "a4"]) void come("a", name);
  void come("b", "b1");
  void come("c", "c1");
  for (let next = begun[0]; next; next = begun[begun.indexOf(next) + 1]) await end(next);
  assert.deepEqual(begun, ["a1", "a2", "b1", "c1", "a3", "a4"]);
});

test("so many are at work at once, and none is lost where work fails", async () => {
  const { turns, begun, come, end } = stage(2);
  void come("a", "a1");
  const failing = turns("a", () => Promise.reject(new Error("no")));
  void come("a", "a2");
  void come("a", "a3");
  assert.deepEqual(begun, ["a1"]);
  await assert.rejects(failing, /no/);
  await end("");
  assert.deepEqual(begun, ["a1", "a2"]);
  await end("a2");
  assert.deepEqual(begun, ["a1", "a2", "a3"]);
  await end("a1");
  await end("a3");
  assert.equal(await turns("b", async () => "free again"), "free again");
});
