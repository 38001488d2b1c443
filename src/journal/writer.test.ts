import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { createCountingBoundary } from "../../test/support/counting-boundary.ts";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { openBoundary } from "../runtime/boundary.ts";
import { realClock } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import { connect } from "./connection.ts";
import { migrate } from "./migrations.ts";
import { openJournal } from "./open.ts";
import { createTables, type Tables } from "./tables.ts";
import { createWriter, journalGroupWrites, journalRelaxedFlushMs, journalWaitingUnits, type Unit } from "./writer.ts";

test("units of one tick share one commit and are acknowledged in order", async (t) => {
  const { journal, boundary } = await openCounted(t);
  const before = boundary.crossings.length;
  const acknowledged: number[] = [];
  const units = [1, 2, 3].map(async (index) => {
    // A few promises further on is still the same turn of the event loop.
    for (let hop = 0; hop < index; hop++) await null;
    await journal.durable(`unit ${index}`, note(`${index}`));
    acknowledged.push(index);
  });
  await Promise.all(units);
  assert.deepEqual(acknowledged, [1, 2, 3]);
  assert.deepEqual(boundary.crossings.slice(before), [
    "journal unit 1, unit 2, unit 3 commit:before",
    "journal unit 1, unit 2, unit 3 commit:after",
  ]);
});

test("a unit that fails leaves no trace and its neighbours stand, in order", async (t) => {
  const { journal, subjects } = await openCounted(t);
  const boom = new Error("boom");
  const results = await Promise.allSettled([
    journal.durable("first", note("first")),
    journal.durable("fails", (tables) => {
      note("fails")(tables);
      throw boom;
    }),
    journal.durable("last", ({ history }) => history.add({ kind: "test", subject: "last", line: "" })),
  ]);
  assert.deepEqual(
    results.map((result) => (result.status === "fulfilled" ? result.value : result.reason)),
    ["first", boom, 2],
  );
  assert.deepEqual(subjects(), ["first", "last"]);
  assert.equal(journal.counts.failed, 1);
  assert.equal(await journal.durable("next", note("next")), "next");
});

test("a unit that breaks a rule of a table fails alone, with what SQLite says", async (t) => {
  const { journal, subjects } = await openCounted(t);
  const bad = { what: "w", subject: "s", why: "w", body: {}, priority: 0.5 };
  const [first, second] = await Promise.allSettled([
    journal.durable("bad", (tables) => {
      note("bad")(tables);
      return tables.intents.file(bad);
    }),
    journal.durable("good", note("good")),
  ]);
  assert.match(String(first.status === "rejected" && first.reason), /cannot store REAL value in INTEGER column/);
  assert.equal(second.status, "fulfilled");
  assert.deepEqual(subjects(), ["good"]);
});

test("a unit that would wait fails: its transaction cannot stay open", async (t) => {
  const { journal } = await openCounted(t);
  await assert.rejects(
    journal.durable("waits", async () => undefined),
    /waits, but its transaction cannot/,
  );
});

test("a read sees what is committed; a unit also sees the units filed before it", async (t) => {
  const { journal, subjects } = await openCounted(t);
  const seen: number[] = [];
  const count = ({ history }: Tables) => seen.push(history.recent(10).length);
  const filed: Unit<unknown>[] = [note("a"), count, note("b"), count];
  const units = filed.map((unit) => journal.durable("unit", unit));
  assert.deepEqual(subjects(), [], "filed is not written yet");
  await Promise.all(units);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(subjects(), ["a", "b"]);
});

test("a relaxed unit waits for company, but not for long", async (t) => {
  const { journal, clock, subjects } = await openCounted(t);
  const commits = journal.counts.commits;
  const alone = journal.relaxed("alone", note("alone"));
  await clock.advance(journalRelaxedFlushMs - 1);
  assert.deepEqual(subjects(), []);
  await clock.advance(1);
  await alone;

  const early = journal.relaxed("early", note("early"));
  await journal.durable("durable", note("durable"));
  await early;
  assert.deepEqual(subjects(), ["alone", "early", "durable"]);
  assert.equal(journal.counts.commits, commits + 2);
});

test("a durable commit is synced in full, a relaxed one is not", async (t) => {
  const path = join(temporaryFolder(t), "journal.db");
  const connection = connect(path);
  t.after(() => connection.close());
  migrate(connection, 0, openBoundary);
  const tables = createTables(connection, realClock);
  const writer = createWriter({ connection, tables, path, clock: realClock, boundary: openBoundary });
  const mode = connection.one<{ synchronous: number }>("PRAGMA synchronous");
  const full = { synchronous: 2 };
  const normal = { synchronous: 1 };
  assert.deepEqual(await writer.durable("durable", () => mode()), full);
  assert.deepEqual(await writer.relaxed("relaxed", () => mode()), normal);
  const mixed = [writer.relaxed("relaxed", () => mode()), writer.durable("durable", () => mode())];
  assert.deepEqual(await Promise.all(mixed), [full, full]);
});

test("a flood is cut into commits of bounded size, in order", async (t) => {
  const { journal, subjects } = await openCounted(t);
  const commits = journal.counts.commits;
  const names = Array.from({ length: journalGroupWrites + 1 }, (_, index) => `${index}`);
  await Promise.all(names.map((name) => journal.durable(name, note(name))));
  assert.equal(journal.counts.commits, commits + 2);
  assert.deepEqual(subjects(), names);
});

test("more units than may wait are rejected, and those that wait are kept", async (t) => {
  const { journal } = await openCounted(t);
  const waiting = Array.from({ length: journalWaitingUnits }, () => journal.durable("waits", () => undefined));
  await assert.rejects(
    journal.durable("one too many", () => undefined),
    { code: "AKP_JOURNAL_BUSY" },
  );
  assert.equal(journal.counts.waiting, journalWaitingUnits);
  await Promise.all(waiting);
  assert.equal(journal.counts.waiting, 0);
});

test("closing settles the units that wait, and later ones are rejected", async (t) => {
  const { journal, dir, clock } = await openCounted(t);
  const units = [journal.relaxed("relaxed", note("relaxed")), journal.durable("durable", note("durable"))];
  const closed = journal.close();
  await assert.rejects(journal.durable("late", note("late")), { code: "AKP_JOURNAL_CLOSED" });
  await closed;
  assert.deepEqual(await Promise.all(units), ["relaxed", "durable"]);
  assert.throws(() => journal.read.history.recent(1), { code: "AKP_JOURNAL_CLOSED" });
  const { journal: next } = await openJournal({ dir, clock, log: silentLog });
  assert.equal(next.read.history.recent(10).length, 2);
  await next.close();
});

test("while another program holds the file the work fails, and succeeds afterwards", async (t) => {
  const { journal, dir, subjects } = await openCounted(t);
  const other = new DatabaseSync(join(dir, "journal.db"));
  t.after(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(journal.durable("unit", note("during")), { code: "AKP_JOURNAL_BUSY" });
  other.exec("ROLLBACK");
  await journal.durable("unit", note("after"));
  assert.deepEqual(subjects(), ["after"]);
});

test("a crash between commit and acknowledgement acknowledges nothing, and nothing more is written", async (t) => {
  const dir = temporaryFolder(t);
  const clock = createVirtualClock();
  await (await openJournal({ dir, clock, log: silentLog })).journal.close();
  // The commit's two boundaries.
  const boundary = createCountingBoundary(2);
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  await assert.rejects(journal.durable("unit", note("unit")), { name: "SimulatedCrash" });
  assert.equal((await journal.died).code, "AKP_INTERNAL");
  await assert.rejects(journal.durable("late", note("late")), { code: "AKP_JOURNAL_CLOSED" });
  assert.equal(journal.read.history.recent(10).length, 1, "the commit itself went through");
  await assert.rejects(journal.close(), { name: "SimulatedCrash" });
});

test("counts include rows, bytes and the time of disk writes", async (t) => {
  const { journal } = await openCounted(t, realClock);
  await journal.durable("unit", note("unit"));
  assert.equal(journal.rows().history, 1);
  assert.equal(journal.rows().intents, 0);
  assert.ok(journal.bytes() > 0);
  assert.ok(journal.counts.syncLastMs > 0 && journal.counts.syncMostMs >= journal.counts.syncLastMs);
});

function note(subject: string): Unit<string> {
  return ({ history }) => {
    history.add({ kind: "test", subject, line: "" });
    return subject;
  };
}

async function openCounted(t: TestContext, realOrVirtual: typeof realClock = createVirtualClock()) {
  const dir = temporaryFolder(t);
  const clock = realOrVirtual as ReturnType<typeof createVirtualClock>;
  const boundary = createCountingBoundary();
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  t.after(() => journal.close());
  const subjects = () =>
    journal.read.history
      .recent(10_000)
      .map((line) => line.subject)
      .reverse();
  return { dir, journal, boundary, clock, subjects };
}
