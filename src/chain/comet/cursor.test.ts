import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../../runtime/errors.ts";
import { createCursorWriter } from "./follower.ts";

/** Keeps what it is given unless there is a reason not to. */
function recordingCursor() {
  const written: bigint[] = [];
  const state = { error: undefined as ProviderError | undefined };
  const cursor = {
    load: () => undefined,
    async save(_: string, height: bigint) {
      await Promise.resolve();
      if (state.error) throw state.error;
      written.push(height);
    },
  };
  return { written, state, cursor };
}

const busy = () =>
  new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "another program holds it locked" });

test("a journal that is locked for an instant loses nothing and does not end the following", async () => {
  const { written, state, cursor } = recordingCursor();
  const writer = createCursorWriter(cursor, "test-1");
  state.error = busy();
  writer.moveTo(1n);
  await new Promise(setImmediate);
  writer.moveTo(2n);
  await new Promise(setImmediate);
  assert.deepEqual(written, []);
  state.error = undefined;
  writer.moveTo(3n);
  await writer.flush();
  assert.deepEqual(written, [3n]);
});

test("a journal that stays locked → flush rejects", async () => {
  const { state, cursor } = recordingCursor();
  const writer = createCursorWriter(cursor, "test-1");
  state.error = busy();
  writer.moveTo(1n);
  await assert.rejects(writer.flush(), { code: "AKP_JOURNAL_BUSY" });
});

test("a journal that cannot be written → the next move throws", async () => {
  const { state, cursor } = recordingCursor();
  const writer = createCursorWriter(cursor, "test-1");
  state.error = new ProviderError("AKP_JOURNAL_CLOSED", { reason: "the disk is full" });
  writer.moveTo(1n);
  await new Promise(setImmediate);
  assert.throws(() => writer.moveTo(2n), { code: "AKP_JOURNAL_CLOSED" });
});
