/** Every manifest that was recorded keeps its hash on its way over gRPC, as the network's own npm package writes it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { listRecordings, readRecording } from "../../../test/support/recordings.ts";
import { checkOverGrpc } from "../../../test/support/samples/manifest-wire.ts";

test("a recorded manifest has the same hash over gRPC as in its JSON", () => {
  const paths = listRecordings("objects").filter((path) => /\/manifest[^/]*\.json$/.test(path));
  let compared = 0;
  for (const path of paths) {
    const text = readRecording(path);
    // Beside those that were sent lie some that the cluster kept, which are of another form.
    if (!text.toString().trimStart().startsWith("[")) continue;
    checkOverGrpc(text, path);
    compared += 1;
  }
  assert.ok(compared >= 60, `${compared} manifests`);
});
