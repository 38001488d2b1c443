/** A folder of its own for a test, gone when the test is. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export function temporaryFolder(t: Pick<TestContext, "after">, under = tmpdir()): string {
  const path = mkdtempSync(join(under, "akash-provider-test-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The same in memory where the machine has such a place: for journals of which a thousand are synced to disk. */
export function memoryFolder(t: Pick<TestContext, "after">): string {
  return temporaryFolder(t, existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
}
