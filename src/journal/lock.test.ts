import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startJournalProcess } from "../../test/journal/process.ts";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { takeLock } from "./lock.ts";

test("a second process is rejected with the holder's id until the holder releases the directory", async (t) => {
  const dir = temporaryFolder(t);
  const first = startJournalProcess(t, "hold", dir);
  assert.equal(await first.firstLine(), "open");
  assert.throws(
    () => takeLock(dir, realClock),
    (error) => {
      assert.ok(ProviderError.is(error, "AKP_DATA_DIR_IN_USE"));
      assert.match(error.message, new RegExp(`process ${first.pid} on ${hostname()}, since 2026-`));
      return true;
    },
  );
  first.letGo();
  await first.ended();
  takeLock(dir, realClock).release();
});

test("a process that is killed lets go at once, though its name is still written there", async (t) => {
  const dir = temporaryFolder(t);
  const first = startJournalProcess(t, "hold", dir);
  assert.equal(await first.firstLine(), "open");
  first.kill();
  await first.ended();
  takeLock(dir, realClock).release();
});

test("the name of a process that is alive but no provider does not keep us out", (t) => {
  const dir = temporaryFolder(t);
  writeFileSync(join(dir, "lock.json"), JSON.stringify({ pid: process.ppid, host: hostname(), since: "before" }));
  takeLock(dir, realClock).release();
});

test("of several that start at once exactly one gets it", async (t) => {
  const dir = temporaryFolder(t);
  const all = Array.from({ length: 4 }, () => startJournalProcess(t, "hold", dir));
  const lines = await Promise.all(all.map((one) => one.firstLine()));
  assert.equal(lines.filter((line) => line === "open").length, 1, lines.join("\n"));
  assert.equal(lines.filter((line) => line.startsWith("AKP_DATA_DIR_IN_USE ")).length, 3, lines.join("\n"));
});

test("a failed second request for the lock does not release it", async (t) => {
  const dir = temporaryFolder(t);
  const lock = takeLock(dir, createVirtualClock());
  assert.throws(() => takeLock(dir, createVirtualClock()), { code: "AKP_DATA_DIR_IN_USE" });
  const other = startJournalProcess(t, "hold", dir);
  assert.match(await other.firstLine(), /^AKP_DATA_DIR_IN_USE .*since 2026-01-01T00:00:00.000Z/);
  lock.release();
  takeLock(dir, createVirtualClock()).release();
});

test("a lock file full of nonsense is as good as an empty one", async (t) => {
  const dir = temporaryFolder(t);
  writeFileSync(join(dir, "lock.db"), "nonsense ".repeat(1_000));
  const lock = takeLock(dir, realClock);
  assert.match(await startJournalProcess(t, "hold", dir).firstLine(), /^AKP_DATA_DIR_IN_USE /);
  lock.release();
});

test("a holder whose name cannot be read still keeps others out", (t) => {
  const dir = temporaryFolder(t);
  const lock = takeLock(dir, realClock);
  writeFileSync(join(dir, "lock.json"), "{ half");
  assert.throws(() => takeLock(dir, realClock), { code: "AKP_DATA_DIR_IN_USE", message: /has not said who it is/ });
  lock.release();
});
