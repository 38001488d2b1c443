/** The data directory: ours alone when we make it, and known to be writable before anything opens a file in it. */
import { accessSync, closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Boundary } from "../runtime/boundary.ts";
import { storageError } from "./faults.ts";

export function prepareFolder(dir: string, boundary: Boundary): void {
  try {
    if (!existsSync(dir)) {
      boundary.cross("journal", "folder:before");
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      syncFolder(dirname(dir));
      boundary.cross("journal", "folder:after");
    }
    // Asking the system names the cause ("read-only file system"); SQLite would only say that it cannot open a file.
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
