import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../../runtime/errors.ts";
import type { MirrorKey } from "./mirror/mirror-state.ts";
import { createTelling } from "./telling.ts";

const order = (key: string): MirrorKey => ({ kind: "order", key });
const failure = () => new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "it is locked" });

test("keys are owed to all listeners until the last of them has taken them", async () => {
  const telling = createTelling();
  const told: (readonly MirrorKey[])[] = [];
  let failures = 2;
  telling.add(({ changed }) => void told.push(changed));
  telling.add(() => {
    if (failures-- > 0) throw failure();
    return undefined;
  });
  await assert.rejects(telling.tell({ changed: [order("a"), order("b")] }), { code: "AKP_JOURNAL_BUSY" });
  await assert.rejects(telling.tell({ changed: [] }), { code: "AKP_JOURNAL_BUSY" });
  await telling.tell({ changed: [order("b"), order("c")] });
  await telling.tell({ changed: [order("d")] });
  const [first, second] = [
    [order("a"), order("b")],
    [order("a"), order("b"), order("c")],
  ];
  assert.deepEqual(told, [first, first, second, [order("d")]]);
});

test("keys are owed until what the listeners want written is written", async () => {
  const telling = createTelling();
  const told: (readonly MirrorKey[])[] = [];
  telling.add(({ changed }) => {
    told.push(changed);
    return () => undefined;
  });
  await assert.rejects(telling.tell({ changed: [order("a")] }, () => Promise.reject(failure())));
  await telling.tell({ changed: [] }, () => Promise.resolve());
  await telling.tell({ changed: [] });
  assert.deepEqual(told, [[order("a")], [order("a")], []]);
});

test("no step is told before the one before it has been taken", async () => {
  const telling = createTelling();
  const seen: string[] = [];
  telling.add(async ({ changed }) => {
    seen.push(`begin ${changed[0]?.key}`);
    await new Promise(setImmediate);
    seen.push(`end ${changed[0]?.key}`);
    return undefined;
  });
  await Promise.all([telling.tell({ changed: [order("a")] }), telling.tell({ changed: [order("b")] })]);
  assert.deepEqual(seen, ["begin a", "end a", "begin b", "end b"]);
});
