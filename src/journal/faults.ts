/** What SQLite and the operating system complain about, in the words of our catalogue. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { ProviderError, reasonOf, systemCodeOf } from "../runtime/errors.ts";

/** Primary result codes of SQLite: the low byte of the extended code that Node passes on. */
const busy = 5;
const damaged = new Set([11 /* CORRUPT */, 24 /* FORMAT */, 26 /* NOTADB */]);
const full = 13;
const unwritable = new Set([3 /* PERM */, 8 /* READONLY */, 10 /* IOERR */, 14 /* CANTOPEN */, 15 /* PROTOCOL */]);

/** I/O errors that say the bytes are bad, not that the disk rejects us: READ, SHORT_READ, DATA, CORRUPTFS. */
const unreadable = new Set([266, 522, 8202, 8458]);

/** SQLite's extended result code, if it was SQLite that threw. */
export function sqliteCodeOf(thrown: unknown): number | undefined {
  if (systemCodeOf(thrown) !== "ERR_SQLITE_ERROR") return undefined;
  const { errcode } = thrown as { errcode?: unknown };
  return typeof errcode === "number" ? errcode : undefined;
}

/** The coded error when storage is to blame; undefined when it is the caller (a broken constraint, a bad value). */
export function storageError(path: string, thrown: unknown): ProviderError | undefined {
  const code = sqliteCodeOf(thrown);
  if (code !== undefined) return sqliteError(path, code, thrown);
  const system = systemCodeOf(thrown);
  if (system === undefined || thrown instanceof ProviderError || system.startsWith("ERR_")) return undefined;
  return system === "ENOSPC" || system === "EDQUOT" ? diskFull(path, thrown) : dirUnwritable(path, thrown);
}

function sqliteError(path: string, code: number, cause: unknown): ProviderError | undefined {
  const primary = code & 0xff;
  if (primary === full) return diskFull(path, cause);
  if (damaged.has(primary) || unreadable.has(code)) return corrupt(path, reasonOf(cause), cause);
  if (primary === busy) {
    return new ProviderError("AKP_JOURNAL_BUSY", { path, reason: "another program holds it locked" }, { cause });
  }
  if (!unwritable.has(primary)) return undefined;
  // SQLite reports a file that it could not create or map as an I/O error, also when the cause is a full disk.
  return hasRoom(dirname(path)) ? dirUnwritable(path, cause) : diskFull(path, cause);
}

export function corrupt(path: string, reason: string, cause?: unknown): ProviderError<"AKP_JOURNAL_CORRUPT"> {
  return new ProviderError("AKP_JOURNAL_CORRUPT", { path, reason }, { cause });
}

function diskFull(path: string, cause: unknown): ProviderError {
  return new ProviderError("AKP_DISK_FULL", { path }, { cause });
}

function dirUnwritable(path: string, cause: unknown): ProviderError {
  return new ProviderError("AKP_DATA_DIR_UNWRITABLE", { path: dirname(path), reason: reasonOf(cause) }, { cause });
}

/** Less than the index of a write-ahead log (32 KB) is no room: SQLite could not even open the file. */
const leastRoomBytes = 32 * 1024;

function hasRoom(dir: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize >= leastRoomBytes;
  } catch {
    // A directory that is gone is not full; the error at hand says more than this one would.
    return true;
  }
}
