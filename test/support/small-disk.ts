/** A disk of one megabyte, for tests of what happens when it is full. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Owner } from "./owner.ts";

/** Why such a disk cannot be had here; false when it can. */
export const cannotMount: false | string = process.getuid?.() === 0 ? false : "only root may mount a disk";

export function mountDisk(owner: Owner): string {
  const disk = mkdtempSync(join(tmpdir(), "akash-provider-test-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]);
  owner.after(() => {
    // Lazily, so that a test which failed with a file open leaves no mount behind either.
    execFileSync("umount", ["-l", disk]);
    rmdirSync(disk);
  });
  return disk;
}

const pageBytes = 4_096;

/** Writes until not a byte more fits, then makes room for so many pages. */
export function fillUp(disk: string, freePages = 0): string {
  const path = join(disk, "ballast");
  const handle = openSync(path, "w");
  const fill = () => {
    for (;;) writeSync(handle, Buffer.alloc(pageBytes));
  };
  assert.throws(fill, { code: "ENOSPC" });
  ftruncateSync(handle, Math.max(0, fstatSync(handle).size - freePages * pageBytes));
  closeSync(handle);
  return path;
}
