/** A folder of its own for a test, gone when the test is. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export function temporaryFolder(t: Pick<TestContext, "after">): string {
  const path = mkdtempSync(join(tmpdir(), "akash-provider-test-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
