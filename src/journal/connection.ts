/** The one connection to journal.db: its settings, its prepared statements, and its errors in our words. */
import { DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from "node:sqlite";
import { ProviderError } from "../runtime/errors.ts";
import { storageError } from "./faults.ts";

/** Another program (a backup, an operator's shell) may hold the file for an instant; waiting blocks the event loop. */
export const journalBusyMs = 250;
/** SQLite folds its log back every 4 MB; a burst that made it longer is given back to the disk beyond this. */
const journalWalBytes = 64 * 1024 * 1024;

/** Statements as functions, prepared once. Bigints where a column may outgrow 2^53: heights and nanoseconds. */
export interface Sql {
  run(text: string): (...values: SQLInputValue[]) => StatementResultingChanges;
  one<Row>(text: string, options?: { bigints: boolean }): (...values: SQLInputValue[]) => Row | undefined;
  all<Row>(text: string, options?: { bigints: boolean }): (...values: SQLInputValue[]) => Row[];
}

/** FULL: a commit survives a power cut. NORMAL: it survives our death, and a power cut leaves a sound older state. */
type Synchronous = "FULL" | "NORMAL";

export interface Connection extends Sql {
  exec(text: string): void;
  setSynchronous(mode: Synchronous): void;
  /** Whether a transaction is open; SQLite ends it by itself on some errors. */
  readonly inTransaction: boolean;
  /** Told about every error that storage is to blame for, also when the caller swallows it. */
  onStorageError(tell: (error: ProviderError) => void): void;
  close(): void;
}

const readerPragmas = [
  // A container may have no writable place for temporary files.
  "temp_store=MEMORY",
  // Notice bad pages when they are read, and run no code that a tampered schema may hold.
  "cell_size_check=ON",
  "trusted_schema=OFF",
] as const;

/** Every connection that writes is opened with these; the benchmark uses them for the bare inserts too. */
export const pragmas = [
  "journal_mode=WAL",
  "synchronous=FULL",
  `journal_size_limit=${journalWalBytes}`,
  // Deleted manifests held tenants' secrets: overwrite them.
  "secure_delete=ON",
  ...readerPragmas,
] as const;

/** A reader changes nothing, the mode of the file's log included. */
export function connect(path: string, { readOnly = false } = {}): Connection {
  const database = openDatabase(path, readOnly);
  let synchronous: Synchronous = "FULL";
  let tell: (error: ProviderError) => void = () => undefined;

  function blame(thrown: unknown): unknown {
    if (!database.isOpen) return new ProviderError("AKP_JOURNAL_CLOSED", { reason: "nothing can be read any more" });
    const error = storageError(path, thrown);
    if (error) tell(error);
    return error ?? thrown;
  }

  function guarded<Result>(
    call: (statement: StatementSync, values: SQLInputValue[]) => Result,
    text: string,
    options = { bigints: false },
  ): (...values: SQLInputValue[]) => Result {
    const statement = database.prepare(text);
    statement.setReadBigInts(options.bigints);
    return (...values) => {
      try {
        return call(statement, values);
      } catch (error) {
        throw blame(error);
      }
    };
  }

  function exec(text: string): void {
    try {
      database.exec(text);
    } catch (error) {
      throw blame(error);
    }
  }

  return {
    run: (text) => guarded((statement, values) => statement.run(...values), text),
    one: <Row>(text: string, options?: { bigints: boolean }) =>
      guarded((statement, values) => statement.get(...values) as Row | undefined, text, options),
    all: <Row>(text: string, options?: { bigints: boolean }) =>
      guarded((statement, values) => statement.all(...values) as Row[], text, options),
    exec,
    setSynchronous(mode) {
      if (mode === synchronous) return;
      exec(`PRAGMA synchronous=${mode}`);
      synchronous = mode;
    },
    get inTransaction() {
      return database.isTransaction;
    },
    onStorageError(listener) {
      tell = listener;
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

function openDatabase(path: string, readOnly: boolean): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: journalBusyMs, readOnly });
    for (const pragma of readOnly ? readerPragmas : pragmas) database.exec(`PRAGMA ${pragma}`);
    return database;
  } catch (error) {
    database?.close();
    throw storageError(path, error) ?? error;
  }
}
