/**
 * One writer per data directory. The lock is an open exclusive transaction on a tiny database of its own: the
 * operating system lets go of it when the process dies, however it dies, and a recycled process id cannot fool it.
 *
 * No code of ours may open lock.db except through SQLite: closing any other handle of it would drop the lock (POSIX).
 */
import { chmodSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { storageError } from "./faults.ts";

/** A predecessor that is just exiting is waited for; after that a person had better hear of it. */
const journalLockWaitMs = 500;

interface Lock {
  release(): void;
}

export function takeLock(dir: string, clock: Clock): Lock {
  const path = join(dir, "lock.db");
  const holderPath = join(dir, "lock.json");
  const database = hold(path, () => inUse(dir, holderPath));
  try {
    chmodSync(path, 0o600);
    writeHolder(holderPath, { pid: process.pid, host: hostname(), since: formatTime(clock.now()) });
  } catch (error) {
    database.close();
    throw storageError(path, error) ?? error;
  }
  return {
    release() {
      if (!database.isOpen) return;
      rmSync(holderPath, { force: true });
      database.close();
    },
  };
}

function hold(path: string, refusal: () => ProviderError): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: journalLockWaitMs });
    // Nothing is ever written, so no rollback file is wanted beside it.
    database.exec("PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (thrown) {
    database?.close();
    const error = storageError(path, thrown);
    if (error?.code === "AKP_JOURNAL_BUSY") throw refusal();
    if (error?.code !== "AKP_JOURNAL_CORRUPT") throw error ?? thrown;
    // What the file holds does not matter, only who locks it. Emptied in place: a new file would be a second lock.
    truncateSync(path);
    return hold(path, refusal);
  }
}

interface Holder {
  pid: number;
  host: string;
  since: string;
}

/** Renamed into place, so that the one who is refused never reads half of it. */
function writeHolder(path: string, holder: Holder): void {
  writeFileSync(`${path}.new`, JSON.stringify(holder), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function inUse(dir: string, holderPath: string): ProviderError {
  let holder = "it has not said who it is";
  try {
    const { pid, host, since } = JSON.parse(readFileSync(holderPath, "utf8")) as Holder;
    holder = `process ${pid} on ${host}, since ${since}`;
  } catch (error) {
    return new ProviderError("AKP_DATA_DIR_IN_USE", { path: dir, holder }, { cause: error });
  }
  return new ProviderError("AKP_DATA_DIR_IN_USE", { path: dir, holder });
}
