/**
 * One writer per data directory: an exclusive transaction on a tiny database, which the OS releases when the process dies. Open
 * lock.db through SQLite only: closing any other handle drops the lock (POSIX).
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Boundary } from "../runtime/boundary.ts";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { storageError } from "./faults.ts";

/** Waits for a predecessor that is just exiting. */
const journalLockWaitMs = 500;

export function takeLock(dir: string, clock: Clock) {
  const path = join(dir, "lock.db");
  const holderPath = join(dir, "lock.json");
  const database = hold(path, () => inUseError(dir, holderPath));
  try {
    chmodSync(path, 0o600);
    writeHolder(holderPath, { pid: process.pid, host: hostname(), since: formatTime(clock.now()) });
  } catch (error) {
    database.close();
    throw storageError(path, error) ?? error;
  }
  return {
    release(): void {
      if (!database.isOpen) return;
      rmSync(holderPath, { force: true });
      database.close();
    },
  };
}

function hold(path: string, inUse: () => ProviderError): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: journalLockWaitMs });
    // Nothing is ever written, so no rollback file is wanted beside it.
    database.exec("PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (thrown) {
    database?.close();
    const error = storageError(path, thrown);
    if (error?.code === "AKP_JOURNAL_BUSY") throw inUse();
    if (error?.code !== "AKP_JOURNAL_CORRUPT") throw error ?? thrown;
    // What the file holds does not matter, only who locks it. Emptied in place: a new file would be a second lock.
    truncateSync(path);
    return hold(path, inUse);
  }
}

interface Holder {
  pid: number;
  host: string;
  since: string;
}

/** Renamed into place, so that the next process never reads half of it. */
function writeHolder(path: string, holder: Holder): void {
  writeFileSync(`${path}.new`, JSON.stringify(holder), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function inUseError(dir: string, holderPath: string): ProviderError {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(holderPath, "utf8")) as Holder;
    return new ProviderError("AKP_DATA_DIR_IN_USE", { path: dir, holder: `process ${pid} on ${host}, since ${since}` });
  } catch (cause) {
    return new ProviderError("AKP_DATA_DIR_IN_USE", { path: dir, holder: "it has not said who it is" }, { cause });
  }
}

/** The data directory: ours alone when we make it, and known to be writable before anything opens a file in it. */
export function prepareFolder(dir: string, boundary: Boundary): void {
  try {
    if (!existsSync(dir)) {
      boundary.cross("journal", "folder:before");
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      syncFolder(dirname(dir));
      boundary.cross("journal", "folder:after");
    }
    // Opening it directly names the cause ("read-only file system"); SQLite would only say that it cannot open a file.
    // The slash makes it complain about a file that stands in the directory's place.
    accessSync(`${dir}/`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw storageError(join(dir, "journal.db"), error) ?? error;
  }
}

/** A new or renamed file is safe from a power cut only once its directory is. */
export function syncFolder(dir: string): void {
  const handle = openSync(dir, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
