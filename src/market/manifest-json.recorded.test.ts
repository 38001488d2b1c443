/** Every manifest that the network's own provider took on a real cluster: the same hash, and nothing found wrong with it. */
import assert from "node:assert/strict";
import { listVectors, readJsonVector, readVector, vectorTest } from "../../test/vectors.ts";
import { parseDecCoin } from "./coin.ts";
import type { EndpointKind, GroupSpec } from "./group-spec.ts";
import { readManifest } from "./manifest-json.ts";
import { mismatchOf } from "./manifest-match.ts";
import { faultOfManifest } from "./manifest-rules.ts";

const mostBytes = 1_000_000;

vectorTest("a recorded manifest has the hash that stood on chain for it, and matches its groups", () => {
  const recordings = listVectors("objects").flatMap((path) => {
    const [, folder = "", step = ""] = /^(objects\/[^/]+)\/lease(-\d+)?\.json$/.exec(path) ?? [];
    return folder === "" ? [] : [{ folder, step }];
  });
  let compared = 0;
  for (const { folder, step } of recordings) {
    const { hash } = readJsonVector<{ hash?: string }>(`${folder}/lease${step}.json`);
    const [path, groups] = [`${folder}/manifest${step}.json`, `${folder}/groups.json`];
    if (hash === undefined || !listVectors(folder).includes(path)) continue;
    const { manifest, lacks, version } = readManifest(readVector(path), mostBytes);
    assert.equal(version(), hash, path);
    assert.equal(faultOfManifest(manifest, lacks), undefined, path);
    if (listVectors(folder).includes(groups))
      assert.equal(mismatchOf(manifest, recordedGroups(groups)), undefined, path);
    compared += 1;
  }
  assert.ok(compared >= 40, `${compared} recordings`);
});

interface RecordedGroups {
  readonly groups: readonly {
    readonly group_spec: {
      readonly name: string;
      readonly resources: readonly { readonly resource: RecordedUnit; readonly count: number }[];
    };
  }[];
}

type Value = { readonly val: string };
type Attributes = GroupSpec["requirements"]["attributes"];

interface RecordedUnit {
  readonly id: number;
  readonly cpu: { readonly units: Value; readonly attributes: Attributes };
  readonly gpu: { readonly units: Value; readonly attributes: Attributes };
  readonly memory: { readonly quantity: Value; readonly attributes: Attributes };
  readonly storage: readonly { readonly name: string; readonly quantity: Value; readonly attributes: Attributes }[];
  readonly endpoints: readonly { readonly kind: string; readonly sequence_number: number }[];
}

function recordedGroups(path: string): GroupSpec[] {
  return readJsonVector<RecordedGroups>(path).groups.map(({ group_spec: { name, resources } }) => ({
    name,
    requirements: { attributes: [], allOf: [], anyOf: [] },
    units: resources.map(({ resource: { id, cpu, gpu, memory, storage, endpoints }, count }) => ({
      ...{ id, count, price: parseDecCoin("1uact") },
      cpu: { milli: BigInt(cpu.units.val), attributes: cpu.attributes },
      gpu: { count: BigInt(gpu.units.val), attributes: gpu.attributes },
      memory: { bytes: BigInt(memory.quantity.val), attributes: memory.attributes },
      storage: storage.map(({ name, quantity, attributes }) => ({ name, bytes: BigInt(quantity.val), attributes })),
      endpoints: endpoints.map(({ kind, sequence_number: sequenceNumber }) => ({
        kind: kind.toLowerCase().replace("_", "-") as EndpointKind,
        sequenceNumber,
      })),
    })),
  }));
}
