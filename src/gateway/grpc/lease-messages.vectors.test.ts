import assert from "node:assert/strict";
import { checkOverGrpc } from "../../../test/manifest-wire.ts";
import { listVectors, readVector, vectorTest } from "../../../test/vectors.ts";

vectorTest("a manifest of the network's own samples has the same hash over gRPC as in its JSON", () => {
  const paths = listVectors("sdl").filter((path) => path.endsWith("/manifest.json"));
  for (const path of paths) checkOverGrpc(readVector(path), path);
  assert.ok(paths.length >= 8, `${paths.length} manifests`);
});
