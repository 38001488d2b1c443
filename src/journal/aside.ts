/** A damaged journal is kept for those who want to look into it, out of the way of the new one. */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Boundary } from "../runtime/boundary.ts";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { syncFolder } from "./folder.ts";

/** Journals that were set aside: enough to look into a series of faults, not enough to fill the disk. */
export const journalSetAsideKept = 3;

/** SQLite's own files beside a database. */
const companions = ["-wal", "-shm", "-journal"];

/** Moves the journal under a dated name and returns that name. */
export function setAside(path: string, clock: Clock, boundary: Boundary): string {
  const kept = freeName(dirname(path), clock.now());
  // The file itself goes first: a log left behind by a crash in between is noticed, a file without its log would not be.
  for (const suffix of ["", ...companions]) {
    if (!existsSync(path + suffix)) continue;
    boundary.cross("journal", `set aside${suffix}:before`);
    renameSync(path + suffix, kept + suffix);
    boundary.cross("journal", `set aside${suffix}:after`);
  }
  syncFolder(dirname(path));
  // A clock that was set back would make the latest one look the oldest.
  const others = listSetAside(dirname(path)).filter((other) => other !== kept);
  drop(others.slice(0, Math.max(0, others.length + 1 - journalSetAsideKept)), boundary);
  return kept;
}

/** A file system may forbid colons; a second one in the same millisecond takes the next. */
function freeName(dir: string, atMs: number): string {
  const time = formatTime(atMs).replaceAll(":", "-");
  const taken = readdirSync(dir).some((name) => name.includes(time));
  return taken ? freeName(dir, atMs + 1) : join(dir, `journal.damaged-${time}.db`);
}

/** The journals that lie set aside, the oldest first. One may consist of a log only. */
export function listSetAside(dir: string): string[] {
  const names = readdirSync(dir).flatMap((name) => /^journal\.damaged-.*?\.db/.exec(name)?.[0] ?? []);
  return [...new Set(names)].sort().map((name) => join(dir, name));
}

function drop(paths: string[], boundary: Boundary): void {
  for (const path of paths) {
    boundary.cross("journal", "drop set aside:before");
    for (const suffix of ["", ...companions]) rmSync(path + suffix, { force: true });
    boundary.cross("journal", "drop set aside:after");
  }
}
