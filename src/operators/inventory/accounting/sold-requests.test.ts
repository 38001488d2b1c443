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

const shm = (sizeLimit?: string) => ({
  name: `shm${sizeLimit ?? ""}`,
  emptyDir: { medium: "Memory", ...(sizeLimit && { sizeLimit }) },
});
const sized = (requests: string | undefined, limits: string | undefined, more: object = {}) => ({
  name: "c",
  resources: { ...(requests && { requests: { memory: requests } }), ...(limits && { limits: { memory: limits } }) },
  ...more,
});
const always = { restartPolicy: "Always" };

const ramVolumes: [what: string, spec: object, expectedMi: bigint][] = [
  ["a volume that only the limit has room for", { containers: [sized("1Gi", "3Gi")], volumes: [shm("2Gi")] }, 3_072n],
  [
    "one that two containers mount",
    { containers: [sized("1Gi", "3Gi"), sized("1Gi", "3Gi")], volumes: [shm("2Gi")] },
    4_096n,
  ],
  ["one that shares what was asked for", { containers: [sized("2Gi", "2Gi")], volumes: [shm("1Gi")] }, 2_048n],
  ["one larger than the limit lets it become", { containers: [sized("1Gi", "2Gi")], volumes: [shm("9Gi")] }, 2_048n],
  ["two of them", { containers: [sized("64Mi", "4Gi")], volumes: [shm("1Gi"), shm("512Mi")] }, 1_600n],
  ["one without a size grows to the limit", { containers: [sized("1Gi", "3Gi")], volumes: [shm()] }, 3_072n],
  ["a size of zero is none", { containers: [sized("1Gi", "3Gi")], volumes: [shm("0")] }, 3_072n],
  ["a size and no limit", { containers: [sized("1Gi", undefined)], volumes: [shm("2Gi")] }, 3_072n],
  [
    "a limit of one container is none of the pod",
    { containers: [sized("1Gi", "1Gi"), sized("1Gi", undefined)], volumes: [shm("2Gi")] },
    4_096n,
  ],
  ["neither a size nor a limit", { containers: [sized("1Gi", undefined)], volumes: [shm()] }, 1_024n],
  [
    "a limit of the whole pod",
    { resources: { limits: { memory: "2Gi" } }, containers: [sized("1Gi", undefined)], volumes: [shm("9Gi")] },
    2_048n,
  ],
  [
    "sidecars and what the runtime takes are part of the limit",
    {
      containers: [sized("1Gi", "2Gi")],
      initContainers: [sized("1Gi", "1Gi", always), sized("16Mi", "16Mi")],
      overhead: { memory: "64Mi" },
      volumes: [shm()],
    },
    3_136n,
  ],
  ["what lies on a disk", { containers: [sized("1Gi", "3Gi")], volumes: [{ name: "d", emptyDir: {} }] }, 1_024n],
];

for (const [what, spec, expectedMi] of ramVolumes) {
  test(`a RAM volume takes what it can beyond the requests, once: ${what}`, () => {
    const { memoryBytes, problem } = soldRequests({ metadata: { name: "p" }, spec: spec as Record<string, unknown> });
    assert.deepEqual([memoryBytes, problem], [expectedMi * mi, undefined]);
  });
}

test("a RAM volume whose size cannot be read is told of", () => {
  const spec = { containers: [sized("1Gi", "3Gi")], volumes: [shm("much")] };
  assert.match(soldRequests({ metadata: { name: "p" }, spec }).problem ?? "", /RAM volume shmmuch.*"much"/);
});
