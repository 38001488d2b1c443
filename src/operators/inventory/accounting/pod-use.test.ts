import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../../kube/kube.ts";
import { projectPod } from "./pod-use.ts";

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
