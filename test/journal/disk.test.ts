/** Disks that are really full or really read-only: small tmpfs mounts of our own. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openJournal } from "../../src/journal/open.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { cannotMount, fillUp, mountDisk } from "../support/small-disk.ts";

const deps = { clock: realClock, log: silentLog };

test("a disk that fills up ends the journal with a clear error, and nothing acknowledged is lost", {
  skip: cannotMount,
}, async (t) => {
  const disk = mountDisk(t);
  const dir = join(disk, "data");
  const { journal } = await openJournal({ dir, ...deps });
  const safe: number[] = [];
  const fill = async () => {
    for (;;) safe.push(await journal.durable("fill", ({ intents }) => intents.file(bigIntent(safe.length))));
  };

  await assert.rejects(fill(), { code: "AKP_DISK_FULL" });
  assert.equal((await journal.died).code, "AKP_DISK_FULL");
  await assert.rejects(
    journal.durable("later", () => undefined),
    { code: "AKP_JOURNAL_CLOSED" },
  );
  await journal.close();
  assert.ok(safe.length > 10, "some units fitted");

  execFileSync("mount", ["-o", "remount,size=16m", disk]);
  const { journal: next, report } = await openJournal({ dir, ...deps });
  assert.equal(report.setAside, undefined);
  for (const [index, id] of safe.entries()) assert.equal(next.read.intents.get(id)?.subject, `order ${index}`);
  const id = await next.durable("goes on", ({ intents }) => intents.file(bigIntent(safe.length)));
  assert.equal(next.read.intents.get(id)?.state, "filed");
  await next.close();
});

test("a disk that is full at start is named, and the journal opens once there is room", {
  skip: cannotMount,
}, async (t) => {
  const disk = mountDisk(t);
  const dir = join(disk, "data");
  mkdirSync(dir);
  const ballast = fillUp(disk);
  await assert.rejects(openJournal({ dir, ...deps }), { code: "AKP_DISK_FULL" });
  rmSync(ballast);
  const { journal, report } = await openJournal({ dir, ...deps });
  assert.deepEqual(report, { created: true });
  await journal.close();
});

test("however little room is left, the start either succeeds or says that the disk is full", {
  skip: cannotMount,
}, async (t) => {
  const disk = mountDisk(t);
  const outcomes = new Map<string, number>();
  // A new journal takes about 70 pages; from none to more than enough.
  for (let freePages = 0; freePages < 128; freePages += 1) {
    const dir = join(disk, "data");
    mkdirSync(dir);
    const ballast = fillUp(disk, freePages);
    const outcome = await openJournal({ dir, ...deps }).then(
      async ({ journal }) => {
        await journal.close();
        return "opened";
      },
      (error) => ProviderError.from(error).code,
    );
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (const path of [ballast, dir]) rmSync(path, { recursive: true, force: true });
  }
  assert.deepEqual([...outcomes.keys()].toSorted(), ["AKP_DISK_FULL", "opened"]);
});

test("a journal on a disk that is full at the next start is left as it is", { skip: cannotMount }, async (t) => {
  const disk = mountDisk(t);
  const dir = join(disk, "data");
  const { journal } = await openJournal({ dir, ...deps });
  const id = await journal.durable("before", ({ intents }) => intents.file(bigIntent(0)));
  await journal.close();
  const ballast = fillUp(disk);
  await assert.rejects(openJournal({ dir, ...deps }), { code: "AKP_DISK_FULL" });
  rmSync(ballast);
  const { journal: next, report } = await openJournal({ dir, ...deps });
  assert.deepEqual(report, { created: false });
  assert.equal(next.read.intents.get(id)?.subject, "order 0");
  await next.close();
});

test("a read-only disk is rejected with the reason", { skip: cannotMount }, async (t) => {
  const disk = mountDisk(t);
  const dir = join(disk, "data");
  await (await openJournal({ dir, ...deps })).journal.close();
  execFileSync("mount", ["-o", "remount,ro", disk]);
  await assert.rejects(openJournal({ dir, ...deps }), (error) => {
    assert.ok(ProviderError.is(error, "AKP_DATA_DIR_UNWRITABLE"));
    assert.match(error.message, /read-only file system/);
    return true;
  });
});

function bigIntent(index: number) {
  return { what: "test", subject: `order ${index}`, why: "fill", body: "x".repeat(8_000), priority: 0 };
}
