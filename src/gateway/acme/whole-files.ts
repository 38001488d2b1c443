/** Files that are there as a whole or not at all, and sets of them that change together: for us alone, and safe on the disk. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "../../journal/folder.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { hour } from "../../runtime/durations.ts";
import { systemCodeOf } from "../../runtime/errors.ts";

/** What a crash left half written is taken away when it is older than any write lasts. */
const acmeLeftoverMs = hour;

/** How the names of folders begin in which something is being written. */
const unfinished = ".new-";

export function replaceFile(path: string, text: string, boundary: Boundary): void {
  staged(dirname(path), { [basename(path)]: text }, (folder) => {
    boundary.cross("file", `${path}:before`);
    renameSync(join(folder, basename(path)), path);
    syncFolder(dirname(path));
    boundary.cross("file", `${path}:after`);
  });
}

/** What the file holds afterwards: of two who add it at once, both get what the first one wrote. */
export function addFile(path: string, text: string, boundary: Boundary): string {
  staged(dirname(path), { [basename(path)]: text }, (folder) => {
    boundary.cross("file", `${path}:before`);
    try {
      linkSync(join(folder, basename(path)), path);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
    }
    syncFolder(dirname(path));
    boundary.cross("file", `${path}:after`);
  });
  return readFileSync(path, "utf8");
}

/**
 * `<name>.<kind>` of every kind. They are gathered in a folder whose renaming is what counts: from then on whoever reads
 * finishes what was begun.
 */
export function putSet(dir: string, name: string, texts: Readonly<Record<string, string>>, boundary: Boundary): void {
  const files = Object.fromEntries(Object.entries(texts).map(([kind, text]) => [`${name}.${kind}`, text]));
  staged(dir, files, (folder) => {
    completeSet(dir, name, boundary);
    boundary.cross("file", `${name}:before`);
    renameSync(folder, readyFolder(dir, name));
    syncFolder(dir);
    boundary.cross("file", `${name}:after`);
  });
  completeSet(dir, name, boundary);
}

export function completeSet(dir: string, name: string, boundary: Boundary): void {
  const ready = readyFolder(dir, name);
  if (!existsSync(ready)) return;
  for (const file of readdirSync(ready)) {
    boundary.cross("file", `${file}:before`);
    try {
      renameSync(join(ready, file), join(dir, file));
    } catch (thrown) {
      // Somebody else is at it too.
      if (systemCodeOf(thrown) !== "ENOENT") throw thrown;
    }
    boundary.cross("file", `${file}:after`);
  }
  syncFolder(dir);
  rmSync(ready, { recursive: true, force: true });
}

function readyFolder(dir: string, name: string): string {
  return join(dir, `.${name}.ready`);
}

/** What a crash left half written; keys may be among it. */
export function removeLeftovers(dir: string, nowMs: number): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir).filter((each) => each.startsWith(unfinished))) {
    const path = join(dir, name);
    // Somebody else may be writing now.
    if (statSync(path).mtimeMs < nowMs - acmeLeftoverMs) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes them into a folder of their own beside where they are to be, which nobody else knows, and is gone afterwards. */
function staged(dir: string, files: Readonly<Record<string, string>>, use: (folder: string) => void): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(dir, unfinished));
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = openSync(join(folder, name), "wx", 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    }
    syncFolder(folder);
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
