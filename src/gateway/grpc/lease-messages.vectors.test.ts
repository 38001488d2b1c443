import assert from "node:assert/strict";
import { checkOverGrpc } from "../../../test/support/samples/manifest-wire.ts";
import { listVectors, readVector, vectorTest } from "../../../test/support/vectors.ts";

vectorTest("a manifest of the network's own samples has the same hash over gRPC as in its JSON", () => {
  const paths = listVectors("sdl").filter((path) => path.endsWith("/manifest.json"));
  for (const path of paths) checkOverGrpc(readVector(path), path);
  assert.ok(paths.length >= 8, `${paths.length} manifests`);
});
