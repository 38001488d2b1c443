import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../../kube/kube.ts";
import { projectPod, soldRequests } from "./watched-pod.ts";

const key = "akash.network/capabilities.storage.class.beta3";
const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "Gt", values: ["0"] }] }],
    },
  },
};

function pod(phase: string, more: Record<string, unknown> = {}, meta: Record<string, unknown> = {}): KubeObject {
  return {
    metadata: { name: "web-0", namespace: "lease", uid: "u1", ...meta },
    spec: { nodeName: "a", containers: [{ name: "web", resources: { requests: { cpu: "1" } } }], affinity, ...more },
    status: { phase },
  };
}

test("a pod counts on its node from when it has one", () => {
  const { node, cpuMilli, uid, name } = projectPod(pod("Pending"));
  assert.deepEqual([node, cpuMilli, uid, name], ["a", 1_000n, "u1", "lease/web-0"]);
});

test("a pod without a node takes nothing yet, but what it selects is known", () => {
  const { node, cpuMilli, gtSelected } = projectPod(pod("Pending", { nodeName: undefined }));
  assert.deepEqual([node, cpuMilli, gtSelected], [undefined, 0n, [key]]);
});

test("a finished pod takes and selects nothing", () => {
  for (const phase of ["Succeeded", "Failed"]) {
    const { node, cpuMilli, gtSelected } = projectPod(pod(phase));
    assert.deepEqual([node, cpuMilli, gtSelected], [undefined, 0n, []]);
  }
});

test("a pod that is being deleted counts until it is gone", () => {
  const { node, cpuMilli } = projectPod(pod("Running", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  assert.deepEqual([node, cpuMilli], ["a", 1_000n]);
});

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

test("an unreadable quantity is reported and counts as nothing", () => {
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
  ["a memory volume within the memory request", { containers: [sized("2Gi", "2Gi")], volumes: [shm("1Gi")] }, 2_048n],
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

test("an unreadable size of a RAM volume is reported", () => {
  const spec = { containers: [sized("1Gi", "3Gi")], volumes: [shm("much")] };
  assert.match(soldRequests({ metadata: { name: "p" }, spec }).problem ?? "", /RAM volume shmmuch.*"much"/);
});
