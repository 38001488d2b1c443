/** Writes units of work whole or not at all. All units of one turn of the event loop share a transaction and an fsync, in order. */
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
  /** Units that were rejected or failed. */
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

export class Writer {
  readonly #deps: WriterDeps;
  readonly #connection: Connection;
  readonly #counts: WriterCounts = { commits: 0, units: 0, failed: 0, waiting: 0, syncLastMs: 0, syncMostMs: 0 };
  readonly #died = Promise.withResolvers<ProviderError>();
  #waiting: FiledUnit[] = [];
  #closedFor: string | undefined;
  #dead: ProviderError | undefined;
  #batching: Timer | undefined;
  #awake = false;
  #flushing = Promise.resolve();

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#connection = deps.connection;
    deps.connection.onStorageError((error) => {
      if (error.code !== "AKP_JOURNAL_BUSY") this.#die(error);
    });
  }

  /** Resolves when the unit is safe from a power cut. */
  readonly durable = <T>(label: string, unit: Unit<T>): Promise<T> => this.#file(label, true, unit);

  /** Resolves when the unit is safe from our own death; it waits a moment for others. */
  readonly relaxed = <T>(label: string, unit: Unit<T>): Promise<T> => this.#file(label, false, unit);

  /** Resolves with the reason when storage failed and nothing can be written any more. */
  get died(): Promise<ProviderError> {
    return this.#died.promise;
  }

  get counts(): Readonly<WriterCounts> {
    return this.#counts;
  }

  /** Takes no more units and resolves when those that wait are settled. */
  async drain(): Promise<void> {
    this.#closedFor ??= "it was closed";
    this.#wake();
    await this.#flushing;
  }

  #file<T>(label: string, durable: boolean, run: Unit<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const rejection = this.#rejection();
      if (rejection) {
        this.#counts.failed += 1;
        reject(rejection);
        return;
      }
      this.#waiting.push({ label, run, durable, resolve, reject, value: undefined, failure: undefined });
      this.#counts.waiting = this.#waiting.length;
      if (durable || this.#waiting.length >= journalGroupWrites) this.#wake();
      else this.#batching ??= this.#deps.clock.timer(journalRelaxedFlushMs, () => this.#wake());
    });
  }

  #rejection(): ProviderError | undefined {
    if (this.#closedFor !== undefined) return new ProviderError("AKP_JOURNAL_CLOSED", { reason: this.#closedFor });
    if (this.#waiting.length < journalWaitingUnits) return undefined;
    return new ProviderError("AKP_JOURNAL_BUSY", {
      path: this.#deps.path,
      reason: `${this.#waiting.length} units of work wait already`,
    });
  }

  #wake(): void {
    if (this.#awake) return;
    this.#awake = true;
    this.#flushing = this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#deps.clock.yield();
      this.#batching?.cancel();
      this.#batching = undefined;
      const group = this.#waiting.slice(0, journalGroupWrites);
      this.#waiting = this.#waiting.slice(group.length);
      this.#counts.waiting = this.#waiting.length;
      if (group.length > 0) this.#commit(group);
    }
    this.#awake = false;
  }

  #commit(group: FiledUnit[]): void {
    try {
      const durable = group.some((unit) => unit.durable);
      this.#connection.setSynchronous(durable ? "FULL" : "NORMAL");
      if (!this.#runTogether(group)) this.#runApart(group);
      const label = [...new Set(group.map((unit) => unit.label))].join(", ");
      this.#deps.boundary.cross("journal", `${label} commit:before`);
      const startedMs = this.#deps.clock.monotonicMs();
      this.#connection.exec("COMMIT");
      if (durable) {
        this.#counts.syncLastMs = this.#deps.clock.monotonicMs() - startedMs;
        this.#counts.syncMostMs = Math.max(this.#counts.syncMostMs, this.#counts.syncLastMs);
      }
      this.#deps.boundary.cross("journal", `${label} commit:after`);
      this.#counts.commits += 1;
    } catch (error) {
      for (const unit of group) unit.failure = { error };
      if (!ProviderError.is(error, "AKP_JOURNAL_BUSY")) this.#die(error);
      this.#undo();
    }
    for (const unit of group) this.#settle(unit);
  }

  /** The quick way: no unit fails, so none needs to be undone by itself. */
  #runTogether(group: FiledUnit[]): boolean {
    this.#connection.exec("BEGIN IMMEDIATE");
    try {
      for (const unit of group) unit.value = this.#run(unit);
      return true;
    } catch (error) {
      if (this.#dead) throw this.#dead;
      if (!this.#connection.inTransaction) throw error;
      this.#connection.exec("ROLLBACK");
      return false;
    }
  }

  /** The careful way, when a unit has failed: that one is undone and the others stand. */
  #runApart(group: FiledUnit[]): void {
    this.#connection.exec("BEGIN IMMEDIATE");
    for (const unit of group) {
      this.#connection.exec("SAVEPOINT unit");
      try {
        unit.value = this.#run(unit);
      } catch (error) {
        if (this.#dead) throw this.#dead;
        unit.failure = { error };
        this.#connection.exec("ROLLBACK TO unit");
      }
      this.#connection.exec("RELEASE unit");
    }
  }

  #run(unit: FiledUnit): unknown {
    const value = unit.run(this.#deps.tables);
    invariant(!(value instanceof Promise), `the unit "${unit.label}" waits, but its transaction cannot`);
    // A unit that swallowed such an error must not be acknowledged, nor must its neighbours.
    if (this.#dead) throw this.#dead;
    invariant(this.#connection.inTransaction, `the unit "${unit.label}" lost its transaction`);
    return value;
  }

  #undo(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK");
    } catch (error) {
      this.#die(error);
    }
  }

  #settle(unit: FiledUnit): void {
    if (unit.failure) {
      this.#counts.failed += 1;
      unit.reject(unit.failure.error);
    } else {
      this.#counts.units += 1;
      unit.resolve(unit.value as never);
    }
  }

  #die(thrown: unknown): void {
    if (this.#dead) return;
    const error = ProviderError.from(thrown);
    this.#dead = error;
    this.#closedFor = error.message;
    this.#batching?.cancel();
    const left = this.#waiting;
    this.#waiting = [];
    this.#counts.waiting = 0;
    for (const unit of left) this.#settle(Object.assign(unit, { failure: { error } }));
    this.#died.resolve(error);
  }
}

export const createWriter = (deps: WriterDeps) => new Writer(deps);
