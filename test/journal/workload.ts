/**
 * Random work for crash tests, the same for the same seed: units that write several rows in several tables, some
 * durable, some relaxed, some that fail on purpose, in ticks that are waited for or not.
 */
import assert from "node:assert/strict";
import type { Journal } from "../../src/journal/journal.ts";
import type { TableReads } from "../../src/journal/tables.ts";
import { journalRelaxedFlushMs } from "../../src/journal/writer.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";

interface PlannedUnit {
  readonly index: number;
  readonly durable: boolean;
  readonly fails: boolean;
  readonly lines: number;
  readonly reserves: boolean;
}

interface Tick {
  readonly units: PlannedUnit[];
  readonly waits: boolean;
}

export type Plan = readonly Tick[];

export function planWork(seed: number): Plan {
  const random = createSeededRandom(seed);
  let index = 0;
  const unit = (): PlannedUnit => ({
    index: index++,
    durable: random.next() < 0.6,
    fails: random.next() < 0.15,
    lines: 1 + random.int(3),
    reserves: random.next() < 0.5,
  });
  return Array.from({ length: 4 + random.int(5) }, () => ({
    units: Array.from({ length: 1 + random.int(4) }, unit),
    waits: random.next() < 0.7,
  }));
}

/** Does the work that is not in the journal yet, and reports each acknowledged unit. */
export async function doWork(
  journal: Journal,
  clock: VirtualClock,
  plan: Plan,
  acknowledged: (index: number) => void,
): Promise<void> {
  const next = Number(journal.read.cursor.get(chainId) ?? -1n) + 1;
  let filed: Promise<unknown>[] = [];
  const land = async () => {
    await clock.advance(journalRelaxedFlushMs);
    await Promise.all(filed);
    filed = [];
  };
  for (const { units, waits } of plan) {
    for (const unit of units) if (unit.index >= next) filed.push(fileUnit(journal, unit, acknowledged));
    if (waits) await land();
    else await clock.yield();
  }
  await land();
}

const chainId = "crash-test";
const nameOf = (unit: PlannedUnit) => `unit ${unit.index}`;

function fileUnit(journal: Journal, unit: PlannedUnit, acknowledged: (index: number) => void): Promise<void> {
  const file = unit.durable ? journal.durable : journal.relaxed;
  return file(nameOf(unit), ({ history, reservations, cursor }) => {
    for (let line = 0; line < unit.lines; line++) history.add({ kind: "test", subject: nameOf(unit), line: `${line}` });
    if (unit.reserves) reservations.put({ orderId: nameOf(unit), body: unit });
    if (unit.fails) throw new Error(`${nameOf(unit)} fails on purpose`);
    cursor.set(chainId, BigInt(unit.index));
  }).then(
    () => acknowledged(unit.index),
    // A failure on purpose, or the crash: either way it is not acknowledged.
    () => undefined,
  );
}

/** What must hold after any crash. Gives the units that are there. */
export function checkWork(read: TableReads, plan: Plan, acknowledged: ReadonlySet<number>): Set<number> {
  const planned = plan.flatMap((tick) => tick.units);
  const there = new Set(planned.filter((unit) => isThere(read, unit)).map((unit) => unit.index));
  for (const index of acknowledged) assert.ok(there.has(index), `unit ${index} was acknowledged and is gone`);

  const willing = planned.filter((unit) => !unit.fails).map((unit) => unit.index);
  assert.deepEqual([...there], willing.slice(0, there.size), "units took effect in the order they were filed");
  const order = read.history
    .recent(1_000)
    .map((line) => Number(line.subject.split(" ")[1]))
    .reverse();
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
    "rows lie in the order they were filed",
  );
  const last = willing[there.size - 1];
  assert.equal(read.cursor.get(chainId), last === undefined ? undefined : BigInt(last), "the last write stands");
  return there;
}

export function allWork(plan: Plan): Set<number> {
  return new Set(plan.flatMap((tick) => tick.units.filter((unit) => !unit.fails).map((unit) => unit.index)));
}

/** Whole or not at all: anything between fails the test. */
function isThere(read: TableReads, unit: PlannedUnit): boolean {
  const lines = read.history.about(nameOf(unit), 100).length;
  const reserved = read.reservations.get(nameOf(unit)) !== undefined;
  if (lines === 0 && !reserved) return false;
  assert.ok(!unit.fails, `${nameOf(unit)} failed and left a trace`);
  assert.deepEqual(
    { lines, reserved },
    { lines: unit.lines, reserved: unit.reserves },
    `${nameOf(unit)} is half there`,
  );
  return true;
}
