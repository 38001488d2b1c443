import assert from "node:assert/strict";
import { test } from "node:test";
import { soldRequests } from "./sold-requests.ts";

const mi = 1024n * 1024n;

function requestsOf(...lists: readonly Record<string, unknown>[]) {
  const containers = lists.map((requests, index) => ({ name: `c${index}`, resources: { requests } }));
  return soldRequests({ metadata: { name: "p" }, spec: { containers } });
}

test("gpus of both vendors add up, and what is not sold does not count", () => {
  assert.deepEqual(
    requestsOf({ cpu: "250m", "nvidia.com/gpu": "2" }, { "amd.com/gpu": "1", "example.com/licence": "?" }),
    {
      cpuMilli: 250n,
      memoryBytes: 0n,
      ephemeralBytes: 0n,
      gpus: 3n,
    },
  );
});

test("a quantity that cannot be read is told and counts as nothing, and the rest holds", () => {
  const found = requestsOf({ cpu: "lots", memory: "64Mi" }, { cpu: "-1", "amd.com/gpu": 1 });
  assert.deepEqual([found.cpuMilli, found.memoryBytes, found.gpus], [0n, 64n * mi, 1n]);
  assert.match(found.problem ?? "", /requests of container c0\.cpu: .*"lots"/);
});
