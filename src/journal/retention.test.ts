import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { temporaryFolder } from "../../test/support/folder.ts";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { openBoundary } from "../runtime/boundary.ts";
import { silentLog } from "../runtime/log.ts";
import { connect } from "./connection.ts";
import { historyOfSubject } from "./decisions.ts";
import { migrate } from "./migrations.ts";
import { openJournal } from "./open.ts";
import {
  createRetention,
  firstSweepMs,
  journalHistoryKeepMs,
  journalRetentionEveryMs,
  policies,
  type RetentionPolicy,
} from "./retention.ts";
import { createTables } from "./tables.ts";
import { createWriter } from "./writer.ts";

/** What happens before the sweep. `index` picks one of the rows there are. */
type Step =
  | { kind: "file" | "decide" | "book" | "note" | "set deadline" | "reserve" | "see" }
  | { kind: "settle" | "end"; index: number }
  | { kind: "wait"; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("file", "decide", "book", "note", "set deadline", "reserve", "see"),
  }),
  fc.record({ kind: fc.constantFrom("settle", "end"), index: fc.nat(20) }),
  fc.record({ kind: fc.constant("wait"), ms: fc.nat(30) }),
);

interface ModelRow {
  id: number;
  endedAtMs: number | undefined;
}

test("a sweep removes exactly what is over and too old or too much, in slices", async (t) => {
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 80, size: "max" }),
    // Sometimes so long that only the number of rows counts.
    fc.oneof(fc.nat(300), fc.constant(10_000)),
    fc.integer({ min: 1, max: 10 }),
    fc.integer({ min: 1, max: 5 }),
    async (steps, keepMs, keepRows, sliceRows) => {
      const { clock, writer, rowIds, connection, apply, model } = await setUp(t);
      await apply(steps);
      const before = writer.counts.units;
      const strict = policies.map((policy) => ({ ...policy, keepMs, keepRows }));
      const retention = createRetention({
        sql: connection,
        writer,
        clock,
        log: silentLog,
        policies: strict,
        sliceRows,
      });
      const expected = Object.fromEntries(
        strict.map((policy) => [policy.table, survivors(model[policy.table] ?? [], policy, clock.now())]),
      );
      const removed = await retention.sweep();

      for (const { table } of strict) assert.deepEqual(rowIds(table), expected[table], table);
      assert.equal(rowIds("deadlines").length, steps.filter((one) => one.kind === "set deadline").length);
      assert.equal(rowIds("reservations").length, steps.filter((one) => one.kind === "reserve").length);
      assert.equal(writer.counts.units - before, Math.floor(removed / sliceRows) + 1, "one unit per slice");
      assert.equal(await retention.sweep(), 0, "a second sweep finds nothing");
      connection.close();
    },
  );
  await fc.assert(property, { numRuns: runs(60, 500) });
});

test("an open journal sweeps by itself, after the start and from time to time", async (t) => {
  const dir = temporaryFolder(t);
  const clock = createVirtualClock();
  const line = { kind: "test", subject: "s", line: "l" };
  const { journal } = await openJournal({ dir, clock, log: silentLog });
  await journal.durable("note", ({ history }) => history.add(line));
  clock.jump(journalHistoryKeepMs - journalRetentionEveryMs);
  await clock.advance(journalRetentionEveryMs);
  assert.equal(journal.rows().history, 1, "kept as long as it says");
  await clock.advance(journalRetentionEveryMs);
  assert.equal(journal.rows().history, 0);
  await journal.durable("note", ({ history }) => history.add(line));
  await journal.close();
  assert.equal(clock.pendingTimers, 0, "nothing ticks on after the close");

  clock.jump(journalHistoryKeepMs + 1);
  const { journal: next } = await openJournal({ dir, clock, log: silentLog });
  assert.equal(next.rows().history, 1, "the start does not wait for it");
  await clock.advance(firstSweepMs);
  assert.equal(next.rows().history, 0);
  await next.close();
});

test("nothing is removed while the local clock and block time differ, or before a block is known", async (t) => {
  const clock = createVirtualClock();
  const [dir, log] = [temporaryFolder(t), silentLog];
  const years = 2 * 365 * 86_400_000;
  const chain: { nowMs: number | undefined } = { nowMs: undefined };
  const { journal } = await openJournal({ dir, clock, log, chainNowMs: () => chain.nowMs });
  t.after(() => journal.close());
  await journal.durable("write", ({ ledger, history }) => {
    const line = { kind: "withdrawn", subject: "a", denom: "uact", amount: 5n, height: 1n } as const;
    ledger.add({ ...line, atMs: clock.now() });
    history.add({ kind: "lease", subject: "a", line: "l" });
  });
  const kept = async () => {
    await clock.advance(journalRetentionEveryMs);
    const { ledger, history } = journal.rows();
    return [ledger, history];
  };
  const startedMs = clock.now();
  clock.jump(years);
  assert.deepEqual(await kept(), [1, 1], "no block is known");
  chain.nowMs = startedMs;
  assert.deepEqual(await kept(), [1, 1], "the clock is ahead");
  chain.nowMs = clock.now() + years;
  assert.deepEqual(await kept(), [1, 1], "the clock is behind");
  chain.nowMs = clock.now();
  assert.deepEqual(await kept(), [0, 0]);
});

test("what is written while the local clock is years behind stays its time once the clock is right", async (t) => {
  const clock = createVirtualClock();
  let behindMs = 2 * 365 * 86_400_000;
  const own = { ...clock, now: () => clock.now() - behindMs };
  const options = { dir: temporaryFolder(t), clock: own, log: silentLog, chainNowMs: () => clock.now() };
  const { journal } = await openJournal(options);
  t.after(() => journal.close());
  await journal.durable("write", ({ history }) => history.add({ kind: "lease", subject: "a", line: "closed" }));
  assert.equal(journal.read.history.about("a", 1)[0]?.atMs, journal.nowMs());
  behindMs = 0;
  await clock.advance(journalRetentionEveryMs);
  assert.equal(journal.rows().history, 1);
  clock.jump(journalHistoryKeepMs);
  await clock.advance(journalRetentionEveryMs);
  assert.equal(journal.rows().history, 0);
});

test("the books go after their time; what runs or is owed for stays, and so do the totals", async (t) => {
  const clock = createVirtualClock();
  const day = 86_400_000;
  const options = { dir: temporaryFolder(t), clock, log: silentLog, keep: { ledgerMs: 10 * day } };
  const { journal } = await openJournal(options);
  t.after(() => journal.close());
  const payment = (leaseId: string, endedAtMs?: number) => ({
    ...{ leaseId, denom: "uact", rate: "1", accrued: 10n, withdrawn: 5n, height: 1n, atMs: clock.now() },
    ...{ sinceMs: clock.now(), spentAt: undefined, withdrawnAtMs: undefined },
    ended: endedAtMs === undefined ? undefined : ({ how: "closed", atMs: endedAtMs } as const),
  });
  await journal.durable("book", ({ ledger, payments, deposits }) => {
    const line = { kind: "accrued", subject: "a", denom: "uact", height: 1n } as const;
    ledger.add({ ...line, amount: 10n, atMs: clock.now() });
    ledger.add({ ...line, amount: 7n, atMs: clock.now() + 5 * day });
    payments.put(payment("ended", clock.now()));
    payments.put(payment("ended later", clock.now() + 5 * day));
    payments.put(payment("running"));
    deposits.put({ bidId: "bid", denom: "uakt", amount: 500n, height: 1n });
  });
  clock.jump(10 * day - journalRetentionEveryMs);
  await clock.advance(journalRetentionEveryMs);
  const kept = () => [
    journal.read.ledger.about("a", 9).map(({ amount }) => amount),
    journal.read.payments.all().map(({ leaseId }) => leaseId),
    journal.read.deposits.all().map(({ bidId }) => bidId),
  ];
  assert.deepEqual(kept(), [[7n, 10n], ["ended", "ended later", "running"], ["bid"]]);
  await clock.advance(journalRetentionEveryMs);
  assert.deepEqual(kept(), [[7n], ["ended later", "running"], ["bid"]]);
  clock.jump(100 * day);
  await clock.advance(journalRetentionEveryMs);
  assert.deepEqual(kept(), [[], ["running"], ["bid"]]);
  assert.deepEqual(journal.read.ledger.totals(), [{ kind: "accrued", denom: "uact", amount: 17n }]);
});

test("a subject with more lines of history than there may be of all takes none from another", async (t) => {
  const { writer, tables, connection, clock } = await setUp(t);
  const most = historyOfSubject;
  await writer.durable("a loud tenant among others", () => {
    tables.history.add({ kind: "lease", subject: "quiet", line: "deployed" });
    for (let line = 0; line < 3 * most; line += 1)
      tables.history.add({ kind: "manifest", subject: "loud", line: `manifest received: version ${line}` });
  });
  const keepRows = 2 * most;
  const policy = policies.filter(({ table }) => table === "history").map((each) => ({ ...each, keepRows }));
  await createRetention({ sql: connection, writer, clock, log: silentLog, policies: policy }).sweep();
  assert.deepEqual(
    tables.history.about("quiet", 9).map(({ line }) => line),
    ["deployed"],
  );
  const loud = tables.history.about("loud", 9 * most);
  assert.deepEqual([loud.length, loud[0]?.line], [most, `manifest received: version ${3 * most - 1}`]);
  connection.close();
});

function survivors(rows: ModelRow[], { keepMs, keepRows }: RetentionPolicy, nowMs: number): number[] {
  const young = rows.filter((row) => row.endedAtMs === undefined || row.endedAtMs >= nowMs - keepMs);
  const newest = Math.max(...young.map((row) => row.id));
  return young.filter((row) => row.endedAtMs === undefined || row.id > newest - keepRows).map((row) => row.id);
}

async function setUp(t: TestContext) {
  const path = join(temporaryFolder(t), "journal.db");
  const clock = createVirtualClock();
  const connection = connect(path);
  migrate(connection, 0, openBoundary);
  const tables = createTables(connection, clock);
  const writer = createWriter({ connection, tables, path, clock, boundary: openBoundary });
  const model: Record<string, ModelRow[]> = {
    intents: [],
    decisions: [],
    ledger: [],
    history: [],
    orders: [],
  };
  const rowIds = (table: string) =>
    connection
      .all<{ id: number }>(`SELECT ${/deadlines|reservations/.test(table) ? "1 AS id" : "id"} FROM ${table}`)()
      .map((row) => row.id)
      .toSorted((a, b) => a - b);

  function add(table: string, endedAtMs: number | undefined): string {
    const rows = model[table] ?? [];
    rows.push({ id: rows.length + 1, endedAtMs });
    return `${rows.length}`;
  }

  function end(table: string, index: number, inJournal: (id: number) => void): void {
    const row = model[table]?.[index];
    if (row === undefined || row.endedAtMs !== undefined) return;
    row.endedAtMs = clock.now();
    inJournal(row.id);
  }

  let others = 0;
  function applyNow(one: Step): void {
    const { intents, decisions, ledger, history, deadlines, reservations, orders } = tables;
    const now = clock.now();
    switch (one.kind) {
      case "file":
        intents.file({ what: "w", subject: add("intents", undefined), why: "w", body: {}, priority: 0 });
        break;
      case "settle":
        end("intents", one.index, (id) => intents.settle(id, "done"));
        break;
      case "decide":
        decisions.record({ orderId: add("decisions", now), outcome: "bid", checks: [], inputs: {} });
        break;
      case "book":
        ledger.add({ kind: "fee", subject: add("ledger", now), amount: 1n, denom: "uakt", height: 1n, atMs: now });
        break;
      case "note":
        history.add({ kind: "k", subject: add("history", now), line: "l" });
        break;
      case "set deadline":
        deadlines.put({ kind: "k", subject: `${others++}`, dueAtMs: now });
        break;
      case "reserve":
        reservations.put({ orderId: `${others++}`, body: {} });
        break;
      case "see":
        orders.see({ orderId: add("orders", undefined), spec: null, most: "1uact", createdAt: 1n });
        break;
      case "end":
        end("orders", one.index, (id) => orders.end(`${id}`, { how: "closed" }));
        break;
      case "wait":
        clock.jump(one.ms);
    }
  }
  const apply = (steps: Step[]) => writer.durable("steps", () => steps.forEach(applyNow));
  return { clock, writer, tables, connection, rowIds, apply, model };
}
