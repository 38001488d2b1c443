/** Every table against a plain model in memory, with the journal closed and opened again in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memoryFolder } from "../../test/support/folder.ts";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { silentLog } from "../runtime/log.ts";
import type { Deadline } from "./deadlines.ts";
import type { DecisionRow, HistoryLine } from "./decisions.ts";
import type { Intent } from "./intents.ts";
import { dayMs, type LedgerLine, ledgerKinds } from "./ledger.ts";
import type { ManifestRow } from "./manifests.ts";
import { type OccurrenceRow, stillSo } from "./occurrences.ts";
import { openJournal } from "./open.ts";
import type { ConditionRow, ReservationRow, TableReads, Tables, UnhealthRow } from "./tables.ts";

/** Few names, so that the same row is met again and again. */
const name = fc.constantFrom("a", "b", "ü/ 'quoted'");
/** Any code point, the zero character among them. */
const text = fc.string({ unit: "binary" });
const json = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const height = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const id = fc.integer({ min: 1, max: 8 });
const timeMs = fc.integer({ min: 0, max: 2 ** 45 });
const bytes = fc.uint8Array({ maxLength: 40 });

class Model {
  cursor = new Map<string, bigint>();
  intents: Intent[] = [];
  decisions: DecisionRow[] = [];
  manifests = new Map<string, ManifestRow>();
  deadlines = new Map<string, Deadline>();
  reservations = new Map<string, ReservationRow>();
  ledger: LedgerLine[] = [];
  history: HistoryLine[] = [];
  unhealth = new Map<string, UnhealthRow>();
  occurrences = new Map<string, OccurrenceRow>();
  tenants = new Map<string, Uint8Array>();
  certificates = new Map<string, Uint8Array>();
  conditions = new Map<string, ConditionRow>();
}

/** One thing to do to both; the answers must agree. */
type Action = (to: Tables, model: Model, nowMs: number) => { got: unknown; wanted: unknown };
const nothing = { got: undefined, wanted: undefined };

const intentActions: fc.Arbitrary<Action>[] = [
  fc
    .record({ what: name, subject: name, why: name, body: json, priority: fc.integer({ min: 0, max: 2 }) })
    .chain((intent) => fc.option(timeMs).map((expiresAtMs) => ({ ...intent, ...(expiresAtMs && { expiresAtMs }) })))
    .map((intent) => (to, model, nowMs) => {
      model.intents.push({ ...intent, id: model.intents.length + 1, state: "filed", filedAtMs: nowMs });
      return { got: to.intents.file(intent), wanted: model.intents.length };
    }),
  fc.record({ id, txHash: name }).map(({ id, txHash }) => (to, model) => {
    const wanted = changeIntent(
      model,
      id,
      (intent) => intent.state === "filed" && { ...intent, txHash, state: "sent" },
    );
    return { got: to.intents.send(id, txHash), wanted };
  }),
  id.map((id) => (to, model) => {
    const wanted = changeIntent(model, id, ({ txHash, ...rest }) => {
      return rest.state === "sent" && { ...rest, state: "filed" };
    });
    return { got: to.intents.refile(id), wanted };
  }),
  fc.record({ id, result: json }).map(({ id, result }) => (to, model, settledAtMs) => {
    const wanted = changeIntent(model, id, (intent) => {
      return intent.state === "filed" && { ...intent, state: "cancelled", result, settledAtMs };
    });
    return { got: to.intents.cancel(id, result), wanted };
  }),
  fc
    .record({ id, state: fc.constantFrom("done", "failed", "expired"), result: json })
    .map(({ id, state, result }) => (to, model, settledAtMs) => {
      const wanted = changeIntent(model, id, (intent) => {
        return intent.settledAtMs === undefined && { ...intent, state, result, settledAtMs };
      });
      return { got: to.intents.settle(id, state, result), wanted };
    }),
];

const listActions: fc.Arbitrary<Action>[] = [
  fc.record({ orderId: name, outcome: name, checks: json, inputs: json }).map((decision) => (to, model, atMs) => {
    model.decisions.push({ ...decision, id: model.decisions.length + 1, atMs });
    return { got: to.decisions.record(decision), wanted: model.decisions.length };
  }),
  fc
    .record({ kind: fc.constantFrom(...ledgerKinds), subject: name, amount: fc.bigInt(), denom: name, height })
    .map((entry) => (to, model, atMs) => {
      const line = { ...entry, atMs };
      to.ledger.add(line);
      const day = (ms: number) => Math.floor(ms / dayMs);
      const isSame = (each: LedgerLine) =>
        each.kind === "accrued" && each.kind === line.kind && each.subject === line.subject;
      const at = model.ledger.findLastIndex(
        (each) => isSame(each) && each.denom === line.denom && day(each.atMs) === day(atMs),
      );
      const today = model.ledger[at];
      if (today) model.ledger[at] = { ...today, ...line, amount: today.amount + line.amount };
      else model.ledger.push({ ...line, id: model.ledger.length + 1 });
      return nothing;
    }),
  fc.record({ kind: name, subject: name, line: text }).map((line) => (to, model, atMs) => {
    model.history.push({ ...line, id: model.history.length + 1, atMs });
    return { got: to.history.add(line), wanted: model.history.length };
  }),
];

const keyedActions: fc.Arbitrary<Action>[] = [
  fc.record({ chainId: name, height }).map(({ chainId, height }) => (to, model) => {
    model.cursor.set(chainId, height);
    return { ...nothing, got: to.cursor.set(chainId, height) };
  }),
  fc.record({ leaseId: name, version: name, body: text }).map((manifest) => (to, model, receivedAtMs) => {
    const before = model.manifests.get(manifest.leaseId);
    const laterMs = before ? 1 + Math.max(before.receivedAtMs, before.withdrawnAtMs ?? 0) : 0;
    const kept = before?.deployed && { deployed: before.deployed };
    model.manifests.set(manifest.leaseId, { ...manifest, receivedAtMs: Math.max(receivedAtMs, laterMs), ...kept });
    return { ...nothing, got: to.manifests.put(manifest) };
  }),
  name.map((leaseId) => (to, model, withdrawnAtMs) => {
    const { deployed: _, ...manifest } = model.manifests.get(leaseId) ?? {};
    if ("receivedAtMs" in manifest && manifest.withdrawnAtMs === undefined) {
      const laterMs = Math.max(withdrawnAtMs, manifest.receivedAtMs + 1);
      model.manifests.set(leaseId, { ...manifest, withdrawnAtMs: laterMs });
    }
    return { ...nothing, got: to.manifests.withdraw(leaseId) };
  }),
  fc.tuple(name, name, text).map(([leaseId, version, refusal]) => (to, model) => {
    const manifest = model.manifests.get(leaseId);
    if (manifest?.version === version) model.manifests.set(leaseId, { ...manifest, refusal });
    return { ...nothing, got: to.manifests.noteRejection(leaseId, version, refusal) };
  }),
  fc.tuple(name, name).map(([leaseId, version]) => (to, model) => {
    const { refusal: _, ...manifest } = model.manifests.get(leaseId) ?? {};
    if ("version" in manifest && manifest.version === version && manifest.withdrawnAtMs === undefined) {
      const { body } = manifest;
      model.manifests.set(leaseId, { ...manifest, deployed: { version, body } });
    }
    return { ...nothing, got: to.manifests.noteDeployed(leaseId, version) };
  }),
  fc
    .record({ leaseId: name, version: name, body: text, receivedAtMs: timeMs, withdrawnAtMs: timeMs, refusal: text })
    .map((manifest) => (to, model) => {
      model.manifests.set(manifest.leaseId, { ...manifest });
      return { ...nothing, got: to.manifests.restore(manifest) };
    }),
  name.map((leaseId) => (to, model) => {
    model.manifests.delete(leaseId);
    return { ...nothing, got: to.manifests.remove(leaseId) };
  }),
  fc.record({ kind: name, subject: name, dueAtMs: timeMs }).map((deadline) => (to, model) => {
    model.deadlines.set(`${deadline.kind} ${deadline.subject}`, { ...deadline });
    return { ...nothing, got: to.deadlines.put(deadline) };
  }),
  fc.tuple(name, name).map(([kind, subject]) => (to, model) => {
    model.deadlines.delete(`${kind} ${subject}`);
    return { ...nothing, got: to.deadlines.remove(kind, subject) };
  }),
  fc.record({ orderId: name, body: json }).map((reservation) => (to, model, atMs) => {
    model.reservations.set(reservation.orderId, { ...reservation, atMs });
    return { ...nothing, got: to.reservations.put(reservation) };
  }),
  name.map((orderId) => (to, model) => {
    model.reservations.delete(orderId);
    return { ...nothing, got: to.reservations.remove(orderId) };
  }),
];

const leaseActions: fc.Arbitrary<Action>[] = [
  fc.record({ leaseId: name, sinceMs: timeMs, observedMs: timeMs, atMs: timeMs }).map((row) => (to, model) => {
    model.unhealth.set(row.leaseId, { ...row });
    return { ...nothing, got: to.unhealth.put(row) };
  }),
  name.map((leaseId) => (to, model) => {
    model.unhealth.delete(leaseId);
    return { ...nothing, got: to.unhealth.remove(leaseId) };
  }),
  fc
    .record({
      ...{ leaseId: name, key: name, object: text, note: text, count: id, firstAtMs: timeMs },
      ...{ reportingController: text, reportingInstance: text },
      ...{ counted: fc.constantFrom(stillSo, ""), origin: fc.constantFrom("cluster", "ours") },
    })
    .map((row) => (to, model, lastAtMs) => {
      const key = `${row.leaseId} ${row.key}`;
      // What makes it the same as one before does not change.
      const { origin } = model.occurrences.get(key) ?? row;
      const occurrence = { ...row, lastAtMs, origin, type: "Warning", reason: "BackOff" } as const;
      model.occurrences.set(key, occurrence);
      return { ...nothing, got: to.occurrences.record(occurrence) };
    }),
  fc.record({ owner: name, key: bytes }).map((row) => (to, model) => {
    model.tenants.set(row.owner, row.key);
    return { ...nothing, got: to.tenants.put(row) };
  }),
  name.map((owner) => (to, model) => {
    model.tenants.delete(owner);
    return { ...nothing, got: to.tenants.remove(owner) };
  }),
  fc.record({ owner: name, serial: name, der: bytes }).map((row) => (to, model) => {
    model.certificates.set(`${row.owner} ${row.serial}`, row.der);
    return { ...nothing, got: to.certificates.put(row) };
  }),
  fc.tuple(name, name).map(([owner, serial]) => (to, model) => {
    model.certificates.delete(`${owner} ${serial}`);
    return { ...nothing, got: to.certificates.remove(owner, serial) };
  }),
  fc
    .record({ type: name, subject: name, message: text, sinceMs: timeMs, notified: fc.boolean() })
    .map((row) => (to, model) => {
      model.conditions.set(`${row.type} ${row.subject}`, { ...row });
      return { ...nothing, got: to.conditions.put(row) };
    }),
  fc.tuple(name, name).map(([type, subject]) => (to, model) => {
    model.conditions.delete(`${type} ${subject}`);
    return { ...nothing, got: to.conditions.remove(type, subject) };
  }),
];

const rounds = fc.array(
  fc.record({
    actions: fc.array(fc.oneof(...intentActions, ...listActions, ...keyedActions, ...leaseActions), {
      maxLength: 35,
      size: "max",
    }),
    reopens: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

test("every table gives back what was put into it, in order, also after a restart", async (t) => {
  const property = fc.asyncProperty(rounds, async (rounds) => {
    const dir = memoryFolder(t);
    const clock = createVirtualClock();
    const model = new Model();
    let { journal } = await openJournal({ dir, clock, log: silentLog });
    for (const { actions, reopens } of rounds) {
      clock.jump(1_000);
      const answers = await Promise.all(
        actions.map((action) => journal.durable("action", (tables) => action(tables, model, clock.now()))),
      );
      for (const { got, wanted } of answers) assert.deepEqual(got, wanted);
      if (reopens) {
        await journal.close();
        ({ journal } = await openJournal({ dir, clock, log: silentLog }));
      }
      assertSame(journal.read, model);
    }
    await journal.close();
  });
  await fc.assert(property, { numRuns: runs(15, 600) });
});

function changeIntent(model: Model, id: number, change: (intent: Intent) => Intent | false): boolean {
  const intent = model.intents[id - 1];
  const changed = intent !== undefined && change(intent);
  if (changed) model.intents[id - 1] = changed;
  return changed !== false;
}

function assertSame(read: TableReads, model: Model): void {
  const names = ["a", "b", "ü/ 'quoted'", "never used"];
  const newestFirst = <T>(rows: T[], wanted: (row: T) => boolean = () => true) => rows.filter(wanted).toReversed();
  const unsettled = model.intents.filter((intent) => intent.settledAtMs === undefined);
  const byUrgency = unsettled.toSorted((a, b) => a.priority - b.priority || a.id - b.id);
  assert.deepEqual(read.intents.unsettled(100), byUrgency);
  assert.deepEqual(read.intents.unsettled(2), byUrgency.slice(0, 2));
  for (let id = 1; id <= model.intents.length + 1; id++) assert.deepEqual(read.intents.get(id), model.intents[id - 1]);
  assert.deepEqual(read.decisions.recent(100), newestFirst(model.decisions));
  assert.deepEqual(read.history.recent(3), newestFirst(model.history).slice(0, 3));
  const ever = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  assert.deepEqual(read.ledger.after(2, ever, 3), model.ledger.slice(2, 5));
  for (const { kind, denom, amount } of read.ledger.totals()) {
    const lines = model.ledger.filter((line) => line.kind === kind && line.denom === denom);
    assert.equal(
      amount,
      lines.reduce((sum, line) => sum + line.amount, 0n),
    );
  }
  assert.deepEqual(read.manifests.leaseIds(), [...model.manifests.keys()].toSorted());
  const reserved = [...model.reservations.values()].toSorted((a, b) => (a.orderId < b.orderId ? -1 : 1));
  assert.deepEqual(read.reservations.all(), reserved);
  assertSameDeadlines(read, [...model.deadlines.values()]);
  for (const name of names) {
    assert.deepEqual(read.cursor.get(name), model.cursor.get(name));
    assert.deepEqual(
      read.intents.byTxHash(name),
      model.intents.filter((intent) => intent.txHash === name),
    );
    assert.deepEqual(
      read.decisions.about(name, 2),
      newestFirst(model.decisions, (row) => row.orderId === name).slice(0, 2),
    );
    assert.deepEqual(
      read.ledger.about(name, 100),
      newestFirst(model.ledger, (row) => row.subject === name),
    );
    assert.deepEqual(
      read.history.about(name, 100),
      newestFirst(model.history, (row) => row.subject === name),
    );
    assert.deepEqual(read.manifests.get(name), model.manifests.get(name));
    assert.deepEqual(read.reservations.get(name), model.reservations.get(name));
    assertSameOfLeases(read, model, name);
  }
}

function assertSameOfLeases(read: TableReads, model: Model, name: string): void {
  const byName = <T>(rows: T[], by: (row: T) => string) => rows.toSorted((a, b) => (by(a) < by(b) ? -1 : 1));
  assert.deepEqual(read.unhealth.get(name), model.unhealth.get(name));
  const about = [...model.occurrences.values()].filter(({ leaseId }) => leaseId === name);
  const key = (row: OccurrenceRow) => row.key;
  assert.deepEqual(byName(read.occurrences.about(name, 100), key), byName(about, key));
  const open = about.filter(({ origin, counted }) => origin === "ours" && counted === stillSo);
  assert.deepEqual(byName(read.occurrences.open(name), key), byName(open, key));
  assert.deepEqual(read.tenants.get(name)?.key, model.tenants.get(name));
  const certificates = [...model.certificates].filter(([of]) => of.startsWith(`${name} `));
  assert.deepEqual(
    read.certificates.of(name).map(({ serial, der }) => [`${name} ${serial}`, der]),
    byName(certificates, ([of]) => of),
  );
  assert.equal(read.certificates.owners().includes(name), certificates.length > 0);
  const subject = (row: ConditionRow) => row.subject;
  const conditions = read.conditions.all().filter(({ type }) => type === name);
  const wanted = [...model.conditions.values()].filter(({ type }) => type === name);
  assert.deepEqual(byName(conditions, subject), byName(wanted, subject));
}

function assertSameDeadlines({ deadlines }: TableReads, wanted: Deadline[]): void {
  const byTime = wanted.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  const halfway = byTime[Math.floor(byTime.length / 2)]?.dueAtMs ?? 0;
  const times = (rows: Deadline[]) => rows.map((row) => row.dueAtMs);
  assert.deepEqual(times(deadlines.due(halfway, 100)), times(byTime.filter((row) => row.dueAtMs <= halfway)));
  assert.equal(deadlines.next()?.dueAtMs, byTime[0]?.dueAtMs);
  for (const one of wanted) assert.deepEqual(deadlines.get(one.kind, one.subject), one);
  assert.equal(deadlines.get("never", "used"), undefined);
}

test("observed time is stored in whole milliseconds, although the real clock has fractions", async (t) => {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  await journal.durable("unhealth", ({ unhealth }) =>
    unhealth.put({ leaseId: "lease", sinceMs: 1, observedMs: 1_000.7, atMs: 2 }),
  );
  assert.equal(journal.read.unhealth.get("lease")?.observedMs, 1_000);
});
