import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/folder.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import { followToken } from "./metrics-token.ts";

test("the token is what its file says now, and none where that is not there, empty or too short to be one", async (t) => {
  const clock = createVirtualClock();
  const path = join(temporaryFolder(t), "token");
  const scope = { onStop: (close: () => void) => t.after(close) };
  const token = followToken(path, scope, { clock, log: silentLog });
  const later = () => clock.advance(2 * followedFileMs);
  assert.equal(token(), undefined);
  writeFileSync(path, "0123456789abcdef\n");
  await later();
  assert.equal(token(), "0123456789abcdef");
  writeFileSync(path, "another-token-of-ours");
  await later();
  assert.equal(token(), "another-token-of-ours");
  for (const none of ["", "short", "two words of a token"]) {
    writeFileSync(path, none);
    await later();
    assert.equal(token(), undefined, none);
  }
  rmSync(path);
  await later();
  assert.equal(token(), undefined);
  assert.equal(followToken(undefined, scope, { clock, log: silentLog })(), undefined);
});
