/** Looks at a journal that is already there, without changing a byte of it and without reading all of its pages. */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ProviderError } from "../runtime/errors.ts";
import { journalBusyMs } from "./connection.ts";
import { corrupt, sqliteCodeOf, storageError } from "./faults.ts";
import { applicationId } from "./migrations.ts";

/**
 * The schema version found, 0 when there is nothing yet. Throws AKP_JOURNAL_TOO_NEW, or AKP_JOURNAL_CORRUPT for
 * whatever cannot be used as our journal.
 */
export function examine(path: string, known: number): number {
  if (!existsSync(path) || statSync(path).size === 0) {
    // SQLite would throw such a log away; it may be all that is left of a journal whose setting aside was cut short.
    if (existsSync(`${path}-wal`)) throw corrupt(path, "its log is there but the file itself is missing");
    return 0;
  }
  try {
    return lookInside(path, known);
  } catch (error) {
    if (sqliteCodeOf(error) !== undefined) throw storageError(path, error) ?? error;
    throw error;
  }
}

function lookInside(path: string, known: number): number {
  const database = openReadOnly(path);
  try {
    const value = (pragma: string): unknown => {
      const statement = database.prepare(`PRAGMA ${pragma}`);
      statement.setReturnArrays(true);
      return (statement.get() as unknown as unknown[] | undefined)?.[0];
    };
    const version = Number(value("user_version"));
    const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
    if (version === 0 && isEmpty) return 0;
    if (value("application_id") !== applicationId) throw corrupt(path, "it belongs to some other program");
    if (version > known) throw new ProviderError("AKP_JOURNAL_TOO_NEW", { path, found: version, known });
    return version;
  } finally {
    database.close();
  }
}

const readOnlyCode = 8;

/** Read-only, so that closing it folds no log into a file that may be damaged or too new for us. */
function openReadOnly(path: string): DatabaseSync {
  const options = { timeout: journalBusyMs };
  const database = new DatabaseSync(path, { ...options, readOnly: true });
  try {
    database.exec("SELECT 1 FROM sqlite_schema");
    return database;
  } catch (error) {
    database.close();
    if (((sqliteCodeOf(error) ?? 0) & 0xff) !== readOnlyCode) throw error;
    // The very first commit was cut short and must be rolled back before anyone can read: let SQLite do so.
    const repair = new DatabaseSync(path, options);
    try {
      repair.exec("SELECT 1 FROM sqlite_schema");
    } finally {
      repair.close();
    }
    return new DatabaseSync(path, { ...options, readOnly: true });
  }
}
