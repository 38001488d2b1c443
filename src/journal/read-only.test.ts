import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/folder.ts";
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

test("a reader sees what is committed while the provider writes on, and holds it up in nothing", async (t) => {
  const dir = temporaryFolder(t);
  const journal = await journalIn(dir);
  t.after(() => journal.close());
  await journal.durable("a line", ({ history }) => history.add(line));
  const reader = openToRead(dir, realClock);
  t.after(reader.close);
  assert.equal(reader.read.history.recent(9).length, 1);
  await journal.durable("another", ({ history }) => history.add(line));
  assert.equal(reader.read.history.recent(9).length, 2);
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
    // It starts beside the reader, as if nobody read.
    if (each === dir) await (await journalIn(dir)).close();
    reader.close();
    assert.deepEqual(readFileSync(join(each, "journal.db")), before);
  }
  assert.ok(!readdirSync(copy).includes("lock.db"));
});

test("what is missing, of another program or of another version is refused in words", async (t) => {
  const dir = temporaryFolder(t);
  const path = join(dir, "journal.db");
  const refused = (code: string) => assert.throws(() => openToRead(dir, realClock), { code });
  refused("AKP_JOURNAL_MISSING");
  await (await journalIn(dir)).close();
  const set = (pragma: string) => {
    const connection = connect(path);
    connection.exec(`PRAGMA ${pragma}`);
    connection.close();
  };
  set("user_version = 1");
  refused("AKP_JOURNAL_TOO_OLD");
  set("user_version = 1000");
  refused("AKP_JOURNAL_TOO_NEW");
  set("application_id = 1");
  refused("AKP_JOURNAL_CORRUPT");
  writeFileSync(path, "this is no database");
  refused("AKP_JOURNAL_CORRUPT");
  writeFileSync(path, "");
  refused("AKP_JOURNAL_TOO_OLD");
});
