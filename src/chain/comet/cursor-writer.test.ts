import assert from "node:assert/strict";
import { test } from "node:test";
import type { Journal } from "../../journal/journal.ts";
import type { Tables } from "../../journal/tables.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { createCursorWriter } from "./cursor-writer.ts";

/** Writes what it is given unless there is a reason not to. */
function recordingJournal() {
  const written: string[] = [];
  const cursor = { set: (_: string, height: bigint) => void written.push(`cursor ${height}`) };
  const state = { refusal: undefined as ProviderError | undefined };
  const relaxed = async (_: string, unit: (tables: Tables) => unknown) => {
    await Promise.resolve();
    if (state.refusal) throw state.refusal;
    unit({ cursor } as unknown as Tables);
  };
  return { written, state, journal: { relaxed } as unknown as Pick<Journal, "relaxed"> };
}

const busy = () =>
  new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "another program holds it locked" });

test("a journal that is locked for an instant loses nothing and does not end the following", async () => {
  const { written, state, journal } = recordingJournal();
  const writer = createCursorWriter(journal, "test-1");
  state.refusal = busy();
  await writer.moveTo(1n, () => void written.push("unit 1"));
  await new Promise(setImmediate);
  await writer.moveTo(2n, () => void written.push("unit 2"));
  await new Promise(setImmediate);
  assert.deepEqual(written, []);
  state.refusal = undefined;
  await writer.moveTo(3n, undefined);
  await writer.flush();
  assert.deepEqual(written, ["unit 1", "unit 2", "cursor 3"]);
});

test("a journal that stays locked is told once too much waits, and at the end", async () => {
  const { state, journal } = recordingJournal();
  const writer = createCursorWriter(journal, "test-1");
  state.refusal = busy();
  let moved = 0;
  const moveOn = async () => {
    for (; moved < 2 * limits.rpcCursorUnits; moved += 1) await writer.moveTo(BigInt(moved + 1), () => undefined);
  };
  await assert.rejects(moveOn(), { code: "AKP_JOURNAL_BUSY" });
  assert.ok(moved >= limits.rpcCursorUnits - 1, `${moved}`);
  await assert.rejects(writer.flush(), { code: "AKP_JOURNAL_BUSY" });
});

test("a journal that cannot be written is told with the next move", async () => {
  const { state, journal } = recordingJournal();
  const writer = createCursorWriter(journal, "test-1");
  state.refusal = new ProviderError("AKP_JOURNAL_CLOSED", { reason: "the disk is full" });
  await writer.moveTo(1n, undefined);
  await new Promise(setImmediate);
  await assert.rejects(writer.moveTo(2n, undefined), { code: "AKP_JOURNAL_CLOSED" });
});
