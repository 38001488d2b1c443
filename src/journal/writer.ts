/**
 * Write down, then do. A unit of work is written whole or not at all; all units of one turn of the event loop share
 * one transaction and one fsync, and take effect in the order in which they were filed.
 */
import type { Boundary } from "../runtime/boundary.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Connection } from "./connection.ts";
import type { Tables } from "./tables.ts";

/** Relaxed writes wait this long for more of them before they are committed. */
export const journalRelaxedFlushMs = 50;
/** Writes in one commit: more would hold the event loop longer than its 50 ms bar. */
export const journalGroupWrites = 2_000;
/** Units that wait for their commit; more means that the disk no longer keeps up, and loops had better back off. */
export const journalWaitingUnits = 50_000;

/** Reads and writes tables and nothing else: it runs a second time when a unit beside it fails. It never waits. */
export type Unit<T> = (tables: Tables) => T;

export interface WriterCounts {
  commits: number;
  /** Units that were acknowledged. */
  units: number;
  /** Units that were refused or failed. */
  failed: number;
  /** Units waiting for their commit. */
  waiting: number;
  /** How long the last durable commit took, and the slowest one: the disk's fsync. */
  syncLastMs: number;
  syncMostMs: number;
}

interface FiledUnit {
  readonly label: string;
  readonly run: Unit<unknown>;
  readonly durable: boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  value: unknown;
  failure: { error: unknown } | undefined;
}

interface WriterDeps {
  readonly connection: Connection;
  readonly tables: Tables;
  readonly path: string;
  readonly clock: Clock;
  readonly boundary: Boundary;
}

export type Writer = ReturnType<typeof createWriter>;

export function createWriter({ connection, tables, path, clock, boundary }: WriterDeps) {
  const counts: WriterCounts = { commits: 0, units: 0, failed: 0, waiting: 0, syncLastMs: 0, syncMostMs: 0 };
  const { promise: died, resolve: tellDeath } = Promise.withResolvers<ProviderError>();
  let waiting: FiledUnit[] = [];
  let closedFor: string | undefined;
  let dead: ProviderError | undefined;
  let batching: Timer | undefined;
  let awake = false;
  let flushing = Promise.resolve();

  connection.onStorageError((error) => {
    if (error.code !== "AKP_JOURNAL_BUSY") die(error);
  });

  function file<T>(label: string, durable: boolean, run: Unit<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const refusal = refuse();
      if (refusal) {
        counts.failed += 1;
        reject(refusal);
        return;
      }
      waiting.push({ label, run, durable, resolve, reject, value: undefined, failure: undefined });
      counts.waiting = waiting.length;
      if (durable || waiting.length >= journalGroupWrites) wake();
      else batching ??= clock.timer(journalRelaxedFlushMs, wake);
    });
  }

  function refuse(): ProviderError | undefined {
    if (closedFor !== undefined) return new ProviderError("AKP_JOURNAL_CLOSED", { reason: closedFor });
    if (waiting.length < journalWaitingUnits) return undefined;
    return new ProviderError("AKP_JOURNAL_BUSY", { path, reason: `${waiting.length} units of work wait already` });
  }

  function wake(): void {
    if (awake) return;
    awake = true;
    flushing = flush();
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      await clock.yield();
      batching?.cancel();
      batching = undefined;
      const group = waiting.slice(0, journalGroupWrites);
      waiting = waiting.slice(group.length);
      counts.waiting = waiting.length;
      if (group.length > 0) commit(group);
    }
    awake = false;
  }

  function commit(group: FiledUnit[]): void {
    try {
      const durable = group.some((unit) => unit.durable);
      connection.setSynchronous(durable ? "FULL" : "NORMAL");
      if (!runTogether(group)) runApart(group);
      const label = [...new Set(group.map((unit) => unit.label))].join(", ");
      boundary.cross("journal", `${label} commit:before`);
      const startedMs = clock.monotonicMs();
      connection.exec("COMMIT");
      if (durable) timeSync(clock.monotonicMs() - startedMs);
      boundary.cross("journal", `${label} commit:after`);
      counts.commits += 1;
    } catch (error) {
      for (const unit of group) unit.failure = { error };
      if (!ProviderError.is(error, "AKP_JOURNAL_BUSY")) die(error);
      undo();
    }
    for (const unit of group) settle(unit);
  }

  /** The quick way: no unit fails, so none needs to be undone by itself. */
  function runTogether(group: FiledUnit[]): boolean {
    connection.exec("BEGIN IMMEDIATE");
    try {
      for (const unit of group) unit.value = run(unit);
      return true;
    } catch (error) {
      if (dead) throw dead;
      if (!connection.inTransaction) throw error;
      connection.exec("ROLLBACK");
      return false;
    }
  }

  /** The careful way, when a unit has failed: that one is undone and the others stand. */
  function runApart(group: FiledUnit[]): void {
    connection.exec("BEGIN IMMEDIATE");
    for (const unit of group) {
      connection.exec("SAVEPOINT unit");
      try {
        unit.value = run(unit);
      } catch (error) {
        if (dead) throw dead;
        unit.failure = { error };
        connection.exec("ROLLBACK TO unit");
      }
      connection.exec("RELEASE unit");
    }
  }

  function run(unit: FiledUnit): unknown {
    const value = unit.run(tables);
    invariant(!(value instanceof Promise), `the unit "${unit.label}" waits, but its transaction cannot`);
    // A unit that swallowed such an error must not be acknowledged, nor must its neighbours.
    if (dead) throw dead;
    invariant(connection.inTransaction, `the unit "${unit.label}" lost its transaction`);
    return value;
  }

  function undo(): void {
    try {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    } catch (error) {
      die(error);
    }
  }

  function settle(unit: FiledUnit): void {
    if (unit.failure) {
      counts.failed += 1;
      unit.reject(unit.failure.error);
    } else {
      counts.units += 1;
      unit.resolve(unit.value as never);
    }
  }

  function timeSync(ms: number): void {
    counts.syncLastMs = ms;
    counts.syncMostMs = Math.max(counts.syncMostMs, ms);
  }

  function die(thrown: unknown): void {
    if (dead) return;
    const error = ProviderError.from(thrown);
    dead = error;
    closedFor = error.message;
    batching?.cancel();
    const left = waiting;
    waiting = [];
    counts.waiting = 0;
    for (const unit of left) settle(Object.assign(unit, { failure: { error } }));
    tellDeath(error);
  }

  return {
    /** Resolves when the unit is safe from a power cut. */
    durable: <T>(label: string, unit: Unit<T>) => file(label, true, unit),
    /** Resolves when the unit is safe from our own death; it waits a moment for others. */
    relaxed: <T>(label: string, unit: Unit<T>) => file(label, false, unit),
    /** Resolves with the reason when storage failed and nothing can be written any more. */
    died,
    counts: counts as Readonly<WriterCounts>,
    /** Takes no more units and resolves when those that wait are settled. */
    async drain(): Promise<void> {
      closedFor ??= "it was told to close";
      wake();
      await flushing;
    },
  };
}
