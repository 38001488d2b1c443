/** The one connection to journal.db: its settings, its prepared statements, and its errors in our words. */
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementResultingChanges,
  type StatementSync,
} from "node:sqlite";
import { ProviderError } from "../runtime/errors.ts";
import { storageError } from "./faults.ts";

/** Another program (a backup, an operator's shell) may hold the file for an instant; waiting blocks the event loop. */
export const journalBusyMs = 250;
/** SQLite folds its log back every 4 MB; a burst that made it longer is given back to the disk beyond this. */
const journalWalBytes = 64 * 1024 * 1024;

/** How columns are read that are not plain text, bytes or numbers below 2^53. A column that is NULL is left out of its row. */
export interface Columns<Row> {
  /** Heights, nanoseconds, and amounts kept as text. */
  readonly bigint?: readonly (keyof Row)[];
  readonly boolean?: readonly (keyof Row)[];
  readonly json?: readonly (keyof Row)[];
}

/** Statements as functions, prepared once. */
export interface Sql {
  run(text: string): (...values: SQLInputValue[]) => StatementResultingChanges;
  one<Row>(text: string, columns?: Columns<Row>): (...values: SQLInputValue[]) => Row | undefined;
  all<Row>(text: string, columns?: Columns<Row>): (...values: SQLInputValue[]) => Row[];
}

/** FULL: a commit survives a power cut. NORMAL: it survives our death, and a power cut leaves a sound older state. */
type Synchronous = "FULL" | "NORMAL";

export interface Connection extends Sql {
  exec(text: string): void;
  setSynchronous(mode: Synchronous): void;
  /** Whether a transaction is open; SQLite ends it by itself on some errors. */
  readonly inTransaction: boolean;
  /** Called with every error of storage, also when the caller swallows it. */
  onStorageError(listener: (error: ProviderError) => void): void;
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
  let onError: (error: ProviderError) => void = () => undefined;

  function coded(thrown: unknown): unknown {
    if (!database.isOpen) return new ProviderError("AKP_JOURNAL_CLOSED", { reason: "nothing can be read any more" });
    const error = storageError(path, thrown);
    if (error) onError(error);
    return error ?? thrown;
  }

  function guarded<Result>(
    call: (statement: StatementSync, values: SQLInputValue[]) => Result,
    text: string,
    hasBigints = false,
  ): (...values: SQLInputValue[]) => Result {
    const statement = database.prepare(text);
    statement.setReadBigInts(hasBigints);
    return (...values) => {
      try {
        return call(statement, values);
      } catch (error) {
        throw coded(error);
      }
    };
  }

  function exec(text: string): void {
    try {
      database.exec(text);
    } catch (error) {
      throw coded(error);
    }
  }

  return {
    run: (text) => guarded((statement, values) => statement.run(...values), text),
    one<Row>(text: string, columns: Columns<Row> = {}) {
      const read = rowReader(columns);
      const get = (statement: StatementSync, values: SQLInputValue[]) => {
        const row = statement.get(...values);
        return row && read(row);
      };
      return guarded(get, text, columns.bigint !== undefined);
    },
    all<Row>(text: string, columns: Columns<Row> = {}) {
      const read = rowReader(columns);
      return guarded((statement, values) => statement.all(...values).map(read), text, columns.bigint !== undefined);
    },
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
      onError = listener;
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

type Value = SQLOutputValue;

function rowReader<Row>({ bigint = [], boolean = [], json = [] }: Columns<Row>) {
  const readers = new Map<PropertyKey, (value: Value) => unknown>([
    ...bigint.map((name) => [name, (value: Value) => BigInt(value as string | bigint)] as const),
    ...boolean.map((name) => [name, (value: Value) => Number(value) === 1] as const),
    ...json.map((name) => [name, (value: Value) => JSON.parse(value as string)] as const),
  ]);
  const plain = (value: Value) => (typeof value === "bigint" ? Number(value) : value);
  return (values: Record<string, Value>): Row => {
    const row: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(values)) {
      if (value !== null) row[name] = (readers.get(name) ?? plain)(value);
    }
    return row as Row;
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
