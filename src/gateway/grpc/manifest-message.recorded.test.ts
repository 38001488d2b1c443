/** Every manifest that was recorded keeps its hash on its way over gRPC, as the network's own npm package writes it. */
import assert from "node:assert/strict";
import { wireGroups } from "../../../test/manifest-wire.ts";
import { listVectors, readVector, vectorTest } from "../../../test/vectors.ts";
import { readManifest } from "../../market/manifest-json.ts";
import { manifestV2beta3Group } from "../../runtime/grpc/akash-proto.ts";
import { manifestText } from "./manifest-message.ts";

const mostBytes = 1_000_000;

vectorTest("a recorded manifest has the same hash over gRPC as in its JSON", () => {
  const paths = [...listVectors("objects"), ...listVectors("sdl")].filter((path) =>
    /\/manifest[^/]*\.json$/.test(path),
  );
  let compared = 0;
  for (const path of paths) {
    const text = readVector(path);
    // Beside those that were sent lie some that the cluster kept, which are of another form.
    if (!text.toString().trimStart().startsWith("[")) continue;
    const { manifest, version } = readManifest(text, mostBytes);
    const groups = wireGroups(manifest).map(manifestV2beta3Group.decode);
    const read = readManifest(manifestText(groups), mostBytes);
    assert.equal(read.version(), version(), path);
    assert.deepEqual(read.lacks.size, 0, path);
    compared += 1;
  }
  assert.ok(compared >= 60, `${compared} manifests`);
});
