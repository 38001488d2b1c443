/** Recorded from the network's own tools: their results for SDLs, and which they reject. */
import assert from "node:assert/strict";
import { listVectors, readJsonVector, readVector, vectorTest } from "../../../test/support/vectors.ts";
import { formatDecimal } from "../decimal.ts";
import type { GroupSpec } from "../group-spec.ts";
import { manifestResources } from "../manifest.ts";
import { sortedJson } from "../sorted-json.ts";
import { readSdl } from "./sdl.ts";

/** A group as the network's tools print it. */
function printed({ name, requirements, units }: GroupSpec): unknown {
  const orNull = <T>(list: readonly T[]) => (list.length > 0 ? list : null);
  const { allOf, anyOf, attributes } = requirements;
  return {
    name,
    requirements: { signed_by: { all_of: orNull(allOf), any_of: orNull(anyOf) }, attributes: orNull(attributes) },
    resources: units.map(({ count, price, ...resources }) => ({
      resource: manifestResources(resources),
      count,
      price: { denom: price.denom, amount: formatDecimal(price.amount) },
    })),
  };
}

vectorTest("SDLs become the recorded manifests and groups, byte for byte", () => {
  const cases = listVectors("sdl").filter((path) => path.endsWith("/input.yaml"));
  assert.ok(cases.length >= 8);
  for (const path of cases) {
    const { manifest, groups } = readSdl(readVector(path).toString(), path);
    const recorded = (name: string) => sortedJson(readJsonVector(path.replace("input.yaml", name)));
    assert.equal(sortedJson(manifest), recorded("manifest.json"), path);
    assert.equal(sortedJson(groups.map(printed)), recorded("group-specs.json"), path);
  }
});

vectorTest("SDLs that the network's tools reject are rejected", () => {
  const cases = listVectors("sdl/invalid").filter((path) => path.endsWith(".yaml"));
  assert.ok(cases.length >= 10);
  for (const path of cases) {
    assert.throws(() => readSdl(readVector(path).toString(), path), { code: "AKP_SDL_REFUSED" }, path);
  }
});
