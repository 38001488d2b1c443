/** Looks at a journal that is already there, without changing a byte of it and without reading all of its pages. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { journalBusyMs } from "./connection.ts";
import { corrupt, sqliteCodeOf, storageError } from "./faults.ts";
import { applicationId } from "./migrations.ts";

/** The schema version, 0 for a new file. Throws AKP_JOURNAL_TOO_NEW, or AKP_JOURNAL_CORRUPT for an unusable file. */
export function examine(path: string, known: number): number {
  if (!existsSync(path) || statSync(path).size === 0) {
    // SQLite would delete such a log; it may be all that is left of a journal whose setting aside was cut short.
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

/** Checked at every start, at once: it takes less time than a process does to begin. */
const smallBytes = 8 * 2 ** 20;

/** Throws AKP_JOURNAL_CORRUPT. `isClean`: nothing has touched the file since a clean stop. */
export async function checkPages(path: string, isClean: boolean, log: Log, signal?: AbortSignal): Promise<void> {
  const { size: bytes } = statSync(path);
  const isSmall = bytes <= smallBytes;
  if (isClean && !isSmall) return;
  if (!isSmall) log.info("checking all pages of the journal, since the last stop was not clean", { bytes });
  try {
    const verdict = isSmall ? verdictOn(path) : await verdictOfProcess(path, signal);
    if (verdict !== "ok") throw corrupt(path, verdict);
  } catch (thrown) {
    throw storageError(path, thrown) ?? thrown;
  }
}

function verdictOn(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const row = database.prepare("PRAGMA integrity_check(1)").get();
    return String(row?.["integrity_check"]);
  } finally {
    database.close();
  }
}

/** Takes a minute or more for gigabytes: in a process of its own, so that probes are answered, and since a thread cannot be ended. */
async function verdictOfProcess(path: string, signal: AbortSignal | undefined): Promise<string> {
  const script = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [script, path], { signal, killSignal: "SIGKILL" });
  const { verdict, message, errcode } = JSON.parse(stdout) as CheckResult;
  if (verdict !== undefined) return verdict;
  // Its code does not survive the way between processes.
  throw Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

/** The verdict, or SQLite's error. */
interface CheckResult {
  readonly verdict?: string;
  readonly message?: string;
  readonly errcode?: number;
}

if (import.meta.main) process.stdout.write(JSON.stringify(resultOf(process.argv[2] ?? "")));

function resultOf(path: string): CheckResult {
  try {
    return { verdict: verdictOn(path) };
  } catch (thrown) {
    const errcode = sqliteCodeOf(thrown);
    if (errcode === undefined) throw thrown;
    return { message: (thrown as Error).message, errcode };
  }
}

const noteOf = (path: string) => `${path}-closed`;

function fingerprintOf(path: string): string {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return `${size} ${mtimeNs}`;
}

/** After the last close of a sound file. */
export function noteCleanStop(path: string, log: Log): void {
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size <= smallBytes) return;
  try {
    writeFileSync(noteOf(path), fingerprintOf(path), { mode: 0o600 });
  } catch (thrown) {
    // The next start checks the file, and that is all.
    log.info("cannot note the clean stop of the journal", { reason: reasonOf(thrown) });
  }
}

/** Whether the file is as a clean stop left it. What is noted holds for one start: this one may find damage. */
export function takeCleanStop(path: string): boolean {
  const note = noteOf(path);
  if (!existsSync(note)) return false;
  const isClean = existsSync(path) && readFileSync(note, "utf8") === fingerprintOf(path) && !existsSync(`${path}-wal`);
  rmSync(note);
  return isClean;
}
