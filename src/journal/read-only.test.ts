import assert from "node:assert/strict";
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { realClock } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import { connect } from "./connection.ts";
import { openJournal } from "./open.ts";
import { openToRead } from "./read-only.ts";

const deps = { clock: realClock, log: silentLog };
const line = { kind: "journal", subject: "s", line: "it was so" };

async function journalIn(dir: string) {
  return (await openJournal({ dir, ...deps })).journal;
}

/** With one line in it. */
async function openBoth(t: TestContext) {
  const dir = temporaryFolder(t);
  const journal = await journalIn(dir);
  t.after(() => journal.close());
  await journal.durable("a line", ({ history }) => history.add(line));
  const reader = openToRead(dir, realClock);
  t.after(reader.close);
  return { dir, journal, reader };
}

test("a reader sees what is committed while the provider writes on, and holds it up in nothing", async (t) => {
  const { journal, reader } = await openBoth(t);
  assert.equal(reader.read.history.recent(9).length, 1);
  await journal.durable("another", ({ history }) => history.add(line));
  assert.equal(reader.read.history.recent(9).length, 2);
});

test("what is read at once is of one moment, whatever is written meanwhile", async (t) => {
  const { dir, journal, reader } = await openBoth(t);
  const writing: Promise<unknown>[] = [];
  const counts = reader.atOnce(({ history }) => {
    const before = history.recent(9).length;
    writing.push(journal.durable("another", (tables) => tables.history.add(line)));
    const other = connect(join(dir, "journal.db"));
    other.exec("INSERT INTO history (kind, subject, line, at) VALUES ('journal', 's', 'and so', 1)");
    other.close();
    return [before, history.recent(9).length];
  });
  assert.deepEqual(counts, [1, 1]);
  await Promise.all(writing);
  assert.equal(reader.read.history.recent(9).length, 3);
  assert.throws(() => reader.atOnce(() => assert.fail("the work")), /the work/);
  assert.equal(
    reader.atOnce(({ history }) => history.recent(9).length),
    3,
  );
});

/** Root may read every file, so the effective user is another one for a while. */
function asOtherUser(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test("a journal without read permission is reported neither as missing nor as to be migrated", async (t) => {
  const dir = temporaryFolder(t);
  await (await journalIn(dir)).close();
  const assertRejected = () =>
    asOtherUser(() =>
      assert.throws(() => openToRead(dir, realClock), { code: "AKP_JOURNAL_UNREADABLE", message: /cannot be read/ }),
    );
  const file = join(dir, "journal.db");
  try {
    chmodSync(dir, 0o000);
    assertRejected();
    chmodSync(dir, 0o755);
    chmodSync(file, 0o000);
    assertRejected();
    // A log needs its index beside it, which this user cannot make.
    chmodSync(file, 0o444);
    chmodSync(dir, 0o555);
    assertRejected();
  } finally {
    chmodSync(dir, 0o700);
  }
});

test("a reader of a stopped journal, or of a copy with its log, changes no byte and takes no lock", async (t) => {
  const dir = temporaryFolder(t);
  const copy = temporaryFolder(t);
  const journal = await journalIn(dir);
  await journal.durable("a line", ({ history }) => history.add(line));
  for (const name of ["journal.db", "journal.db-wal"]) copyFileSync(join(dir, name), join(copy, name));
  await journal.close();
  for (const each of [dir, copy]) {
    const before = readFileSync(join(each, "journal.db"));
    const reader = openToRead(each, realClock);
    assert.equal(reader.read.history.recent(9).length, 1);
    assert.throws(() => (reader.read.history as unknown as { add(l: typeof line): void }).add(line), {
      code: "AKP_DATA_DIR_UNWRITABLE",
    });
    // It starts beside the reader, as if there were no reader.
    if (each === dir) await (await journalIn(dir)).close();
    reader.close();
    assert.deepEqual(readFileSync(join(each, "journal.db")), before);
  }
  assert.ok(!readdirSync(copy).includes("lock.db"));
});

test("what is missing, of another program or of another version is rejected in words", async (t) => {
  const dir = temporaryFolder(t);
  const path = join(dir, "journal.db");
  const assertRejected = (code: string) => assert.throws(() => openToRead(dir, realClock), { code });
  assertRejected("AKP_JOURNAL_MISSING");
  await (await journalIn(dir)).close();
  const set = (pragma: string) => {
    const connection = connect(path);
    connection.exec(`PRAGMA ${pragma}`);
    connection.close();
  };
  set("user_version = 1");
  assertRejected("AKP_JOURNAL_TOO_OLD");
  set("user_version = 1000");
  assertRejected("AKP_JOURNAL_TOO_NEW");
  set("application_id = 1");
  assertRejected("AKP_JOURNAL_CORRUPT");
  writeFileSync(path, "this is no database");
  assertRejected("AKP_JOURNAL_CORRUPT");
  writeFileSync(path, "");
  assertRejected("AKP_JOURNAL_TOO_OLD");
});
