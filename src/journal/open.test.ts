import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { type Log, silentLog } from "../runtime/log.ts";
import type { Journal } from "./journal.ts";
import { migrations } from "./migrations.ts";
import { journalSetAsideKept, openJournal } from "./open.ts";

const clock = createVirtualClock();
const deps = { clock, log: silentLog };

test("the first start makes directory and journal, for this user only", async (t) => {
  const dir = join(temporaryFolder(t), "new", "data");
  const { journal, report } = await openJournal({ dir, ...deps });
  assert.deepEqual(report, { created: true });
  assert.equal(modeOf(dir), 0o700);
  await fileSome(journal);
  const files = readdirSync(dir).filter((name) => name.startsWith("journal.db"));
  assert.deepEqual(files.toSorted(), ["journal.db", "journal.db-shm", "journal.db-wal"]);
  for (const name of files) assert.equal(modeOf(join(dir, name)), 0o600, name);
  await journal.close();
});

test("a journal that others may read is closed to them", async (t) => {
  const dir = await makeJournal(t);
  chmodSync(join(dir, "journal.db"), 0o644);
  await (await openJournal({ dir, ...deps })).journal.close();
  assert.equal(modeOf(join(dir, "journal.db")), 0o600);
});

test("a later start finds what was written", async (t) => {
  const dir = await makeJournal(t);
  const { journal, report } = await openJournal({ dir, ...deps });
  assert.deepEqual(report, { created: false });
  assert.equal(journal.read.intents.unsettled(100).length, 50);
  await journal.close();
});

test("a second journal in the same directory is rejected and the first one works on", async (t) => {
  const dir = temporaryFolder(t);
  const { journal } = await openJournal({ dir, ...deps });
  await assert.rejects(openJournal({ dir, ...deps }), { code: "AKP_DATA_DIR_IN_USE" });
  await fileSome(journal);
  await journal.close();
});

test("a directory that cannot be made or used is named with the reason", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "file");
  writeFileSync(file, "");
  for (const dir of [file, join(file, "data")]) {
    const path = {
      code: "AKP_DATA_DIR_UNWRITABLE",
      message: new RegExp(`${basename(dir)} cannot be written: ENOTDIR`),
    };
    await assert.rejects(openJournal({ dir, ...deps }), path);
  }
});

test("a journal of a newer schema is rejected and not a byte of it changes", async (t) => {
  const dir = await makeJournal(t);
  // The version change lies in the log, as a crash of the newer program would leave it.
  const database = new DatabaseSync(join(dir, "journal.db"));
  database.exec(`PRAGMA user_version = ${migrations.length + 1}`);
  const left = join(temporaryFolder(t), "left");
  cpSync(dir, left, { recursive: true });
  database.close();
  // A backup has file and log but not the log's index; looking inside must not need it.
  rmSync(join(left, "journal.db-shm"));
  const before = digests(left);
  assert.ok(before["journal.db-wal"], "there is a log to be left alone");
  await assert.rejects(openJournal({ dir: left, ...deps }), {
    code: "AKP_JOURNAL_TOO_NEW",
    message: new RegExp(`schema ${migrations.length + 1}, this one knows ${migrations.length}`),
  });
  assert.deepEqual(digests(left), before);
});

test("a very first commit that was cut short is rolled back and the journal made again", async (t) => {
  const folder = temporaryFolder(t);
  const database = new DatabaseSync(join(folder, "journal.db"));
  // So small a cache that the unfinished commit is half in the file already.
  database.exec("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (a TEXT)");
  for (let row = 0; row < 100; row++) database.prepare("INSERT INTO half VALUES (?)").run("x".repeat(4_000));
  const left = join(temporaryFolder(t), "left");
  cpSync(folder, left, { recursive: true });
  database.close();
  assert.ok(statSync(join(left, "journal.db-journal")).size > 0, "there is something to roll back");
  const { journal, report } = await openJournal({ dir: left, ...deps });
  assert.deepEqual(report, { created: true });
  await journal.close();
});

const damages: Record<string, (path: string) => void> = {
  "is no database": (path) => writeFileSync(path, "once upon a time ".repeat(1_000)),
  "has pages overwritten": (path) => overwrite(path, (bytes) => bytes.fill(0x5a, 4 * 4_096, 12 * 4_096)),
  "is cut short": (path) => overwrite(path, (bytes) => bytes.subarray(0, bytes.length - 3 * 4_096)),
  "has its header torn": (path) => overwrite(path, (bytes) => bytes.fill(0, 0, 64)),
  "has an index that disagrees with its table": (path) =>
    alter(path, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'intents_unsettled'"),
  "lacks a table": (path) => alter(path, "DROP TABLE ledger"),
  "belongs to another program": (path) => alter(path, "PRAGMA application_id = 1"),
  "has tables but no version": (path) => alter(path, "PRAGMA user_version = 0; PRAGMA application_id = 0"),
  "is gone but for its log": (path) => renameSync(path, `${path}-wal`),
};

for (const [what, damage] of Object.entries(damages)) {
  test(`a journal that ${what} is set aside and reported, and the start continues`, async (t) => {
    const dir = await makeJournal(t);
    const path = join(dir, "journal.db");
    damage(path);
    const bytes = digests(dir);
    const reasons: unknown[] = [];
    const log: Log = { ...silentLog, error: (_, fields) => reasons.push(fields?.["reason"]) };

    const { journal, report } = await openJournal({ dir, clock, log });
    assert.equal(report.created, true);
    const { kept = "", reason = "" } = report.setAside ?? {};
    assert.match(basename(kept), /^journal\.damaged-2026-01-01T00-00-00\.000Z\.db$/);
    for (const [name, digest] of Object.entries(bytes)) {
      if (name.startsWith("journal.db")) assert.equal(digests(dir)[name.replace("journal.db", basename(kept))], digest);
    }
    const [line, ...more] = journal.read.history.recent(10);
    assert.deepEqual(more, []);
    assert.ok(line?.line.includes(reason) && line.line.includes(kept), line?.line);
    assert.deepEqual(reasons, [line?.line]);

    await fileSome(journal);
    await journal.close();
    const { journal: next, report: after } = await openJournal({ dir, clock, log });
    assert.deepEqual(after, { created: false }, "it is reported once");
    assert.equal(next.read.intents.unsettled(100).length, 50);
    await next.close();
  });
}

test("a few journals that were set aside are kept, the latest always among them", async (t) => {
  const dir = temporaryFolder(t);
  const clock = createVirtualClock();
  const kept: string[] = [];
  // Time may stand still between two of them, and an administrator may set it back.
  for (const laterMs of [0, 0, 1_000, 1_000, -3_600_000]) {
    clock.jump(laterMs);
    writeFileSync(join(dir, "journal.db"), `damaged after ${kept.length} others `.repeat(100));
    const { journal, report } = await openJournal({ dir, clock, log: silentLog });
    kept.push(report.setAside?.kept ?? "none");
    await journal.close();
  }
  assert.deepEqual(
    kept.map((path) => existsSync(path)),
    [false, false, true, true, true],
  );
  assert.equal(journalSetAsideKept, 3);
});

test("damage that shows while running ends the journal, and the next start sets it aside", async (t) => {
  const dir = await makeJournal(t);
  const path = join(dir, "journal.db");
  const { journal } = await openJournal({ dir, ...deps });
  overwrite(path, (bytes) => bytes.fill(0x5a, 2 * 4_096));
  assert.throws(() => journal.read.intents.unsettled(1_000), { code: "AKP_JOURNAL_CORRUPT" });
  assert.equal((await journal.died).code, "AKP_JOURNAL_CORRUPT");
  const later = journal.durable("later", ({ history }) => history.add({ kind: "k", subject: "s", line: "l" }));
  await assert.rejects(later, { code: "AKP_JOURNAL_CLOSED" });
  await journal.close();
  const { journal: next, report } = await openJournal({ dir, ...deps });
  assert.notEqual(report.setAside, undefined);
  await next.close();
});

test("a large journal is not read through after a clean stop, and in a process of its own after any other", async (t) => {
  const dir = temporaryFolder(t);
  const logged: string[] = [];
  const log: Log = { ...silentLog, info: (message) => void logged.push(message) };
  const checks = () => logged.splice(0).filter((message) => message.startsWith("checking all pages")).length;
  const { journal } = await openJournal({ dir, clock, log });
  await fileLarge(journal);
  await journal.close();
  const { journal: next } = await openJournal({ dir, clock, log });
  assert.equal(checks(), 0);
  await fileSome(next);
  // What a process that is killed leaves behind.
  const left = join(temporaryFolder(t), "left");
  cpSync(dir, left, { recursive: true });
  await next.close();

  let turns = 0;
  const turn = () => {
    turns += 1;
    turning = setImmediate(turn);
  };
  let turning = setImmediate(turn);
  const { journal: afterKill, report } = await openJournal({ dir: left, clock, log });
  clearImmediate(turning);
  assert.equal(checks(), 1);
  assert.ok(turns > 10, `the event loop went on: ${turns} turns`);
  assert.deepEqual(report, { created: false });
  assert.equal(afterKill.read.intents.unsettled(100).length, 50);
  await afterKill.close();
});

test("a large journal that is damaged is set aside after a stop that was not clean, and after damage that showed", async (t) => {
  const dir = temporaryFolder(t);
  const path = join(dir, "journal.db");
  const { journal } = await openJournal({ dir, ...deps });
  await fileSome(journal);
  await fileLarge(journal);
  await journal.close();
  const { journal: next } = await openJournal({ dir, ...deps });
  overwrite(path, (bytes) => bytes.fill(0x5a, 2 * 4_096, bytes.length / 2));
  assert.throws(() => next.read.intents.unsettled(1_000), { code: "AKP_JOURNAL_CORRUPT" });
  await next.died;
  await next.close().catch(() => undefined);
  const { journal: last, report } = await openJournal({ dir, ...deps });
  assert.notEqual(report.setAside, undefined);
  await last.close();
});

test("what a tenant's manifest held is not left in the files once it is removed", async (t) => {
  const dir = temporaryFolder(t);
  const secret = "correct horse battery staple";
  const { journal } = await openJournal({ dir, ...deps });
  const manifest = { leaseId: "lease", version: "v", body: JSON.stringify({ env: secret.repeat(300) }) };
  await journal.durable("put", ({ manifests }) => manifests.put(manifest));
  await journal.durable("remove", ({ manifests }) => manifests.remove("lease"));
  await journal.close();
  for (const name of readdirSync(dir)) assert.equal(readFileSync(join(dir, name)).includes(secret), false, name);
});

async function makeJournal(t: TestContext): Promise<string> {
  const dir = temporaryFolder(t);
  const { journal } = await openJournal({ dir, ...deps });
  await fileSome(journal);
  await journal.close();
  return dir;
}

async function fileSome(journal: Journal): Promise<void> {
  const intent = { what: "test", subject: "order", why: "test", body: "x".repeat(2_000), priority: 1 };
  await journal.durable("file some", ({ intents }) => {
    for (let count = 0; count < 50; count++) intents.file(intent);
  });
}

/** More than is checked at every start. */
async function fileLarge(journal: Journal): Promise<void> {
  const line = "x".repeat(2 ** 20);
  await journal.durable("file much", ({ history }) => {
    for (let count = 0; count < 10; count++) history.add({ kind: "test", subject: "s", line });
  });
}

function overwrite(path: string, change: (bytes: Buffer) => Uint8Array): void {
  writeFileSync(path, change(readFileSync(path)));
}

function alter(path: string, sql: string): void {
  const database = new DatabaseSync(path, { defensive: false });
  database.exec(sql);
  database.close();
}

function digests(dir: string): Record<string, string> {
  // The index of the log (-shm) is no part of the data: every reader makes it anew.
  const names = readdirSync(dir).filter((name) => name.startsWith("journal.") && !name.endsWith("-shm"));
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(dir, name)))
      .digest("hex");
  return Object.fromEntries(names.map((name) => [name, digest(name)]));
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
