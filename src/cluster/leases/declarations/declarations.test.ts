import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseOf } from "../../../../test/support/stages/declaration-stage.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { createUnseenWrites } from "./declarations.ts";

const [ann, annToo] = [leaseOf(1, 1), leaseOf(1, 2)];
const never = new AbortController().signal;
const object: KubeObject = { metadata: { name: "a", resourceVersion: "7" } };

/** A server and a cache that answer on command. */
function open({ found }: { found?: KubeObject } = {}) {
  const shown = Promise.withResolvers<void>();
  const seenSubjects: string[] = [];
  const writes = createUnseenWrites(
    async () => found,
    () => shown.promise,
    (subject) => seenSubjects.push(subject),
  );
  return { writes, shown, seenSubjects };
}

test("a write counts from before it is sent until the cache shows what became of it", async () => {
  const { writes, shown, seenSubjects } = open();
  await writes.write("a", ann, async () => {
    assert.equal(writes.get("a")?.lease, ann);
    return { object };
  });
  assert.equal(writes.get("a")?.lease, ann);
  shown.resolve();
  await shown.promise;
  await Promise.resolve();
  assert.equal(writes.get("a"), undefined);
  assert.deepEqual(seenSubjects, ["a"]);
});

test("of one name one write is under way at a time", async () => {
  const { writes } = open();
  const answer = Promise.withResolvers<{ object: KubeObject }>();
  const first = writes.write("a", ann, () => answer.promise);
  let isTurn = false;
  const second = writes.turn("a").then(() => {
    isTurn = true;
    return writes.write("a", annToo, async () => ({ object }));
  });
  await new Promise(setImmediate);
  assert.equal(isTurn, false);
  answer.resolve({ object });
  await Promise.all([first, second]);
  assert.equal(writes.get("a")?.lease, annToo);
});

test("of a write that failed the server says what became of it, and the cache must show that", async () => {
  const fail = () => Promise.reject(new Error("the answer was lost"));
  const there = open({ found: object });
  await assert.rejects(there.writes.write("a", ann, fail));
  const [write] = there.writes.list();
  assert.ok(write);
  const seeing = there.writes.untilSeen(write, never);
  await new Promise(setImmediate);
  assert.equal(there.writes.get("a"), write);
  there.shown.resolve();
  await seeing;
  assert.equal(there.writes.get("a"), undefined);

  const absent = open();
  await assert.rejects(absent.writes.write("a", ann, fail));
  for (const each of absent.writes.list()) await absent.writes.untilSeen(each, never);
  assert.deepEqual(absent.writes.list(), []);
});
