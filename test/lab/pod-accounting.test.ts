/** What the pods of a node take, counted by us and by kubectl on a real API server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { allocationOf, projectPod } from "../../src/operators/inventory/accounting/watched-pod.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "./cluster.ts";
import { allocatedIn } from "./described-node.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing();
/** With controllers, because pods need the service account of their namespace. No kubelet: pods stay as we put them. */
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

const node = "counted";
const gpu = "nvidia.com/gpu";
const size = { cpu: "64", memory: "256Gi", "ephemeral-storage": "1Ti", pods: "110", [gpu]: "8" };
const container = (name: string, requests: Record<string, string>, more: object = {}) => {
  // Extended resources have limits, which are the requests too.
  const limits = requests[gpu] === undefined ? {} : { limits: { [gpu]: requests[gpu] } };
  return { name, image: "none", resources: { requests, ...limits }, ...more };
};
const always = { restartPolicy: "Always" };

const specs = {
  plain: {
    containers: [
      container("web", { cpu: "250m", memory: "100M" }),
      container("cuda", { memory: "1500m", cpu: "0.1", [gpu]: "2" }),
    ],
  },
  starting: {
    containers: [container("web", { cpu: "100m", memory: "1Gi" })],
    initContainers: [
      container("proxy", { cpu: "50m", memory: "10Mi" }, always),
      container("setup", { cpu: "3", "ephemeral-storage": "7Gi", memory: "1Mi" }),
    ],
  },
  none: { containers: [{ name: "web", image: "none" }] },
  inMemory: {
    containers: [container("web", { memory: "123456789" })],
    volumes: [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "2Gi" } }],
  },
  overhead: { containers: [container("web", { cpu: "333m" })], runtimeClassName: "heavy" },
  grown: { containers: [container("web", { cpu: "1", memory: "1Gi" })] },
  finished: { containers: [container("job", { cpu: "30", memory: "30Gi" })] },
};

const statuses = {
  grown: {
    phase: "Running",
    containerStatuses: [
      {
        name: "web",
        image: "none",
        imageID: "",
        ready: true,
        restartCount: 0,
        resources: { requests: { cpu: "2", memory: "1Gi" } },
      },
    ],
  },
  finished: { phase: "Succeeded" },
};

/** Of the volume in memory, which kubectl does not count: it could be filled, and must not be sold again. */
const ramBytes = 2n * 1024n ** 3n;

test("the pods of a node count to the byte as kubectl describes them, and RAM volumes beside", { skip }, async (t) => {
  const kube = openKube(t, kubeconfig);
  await kube.create(kinds.node, { metadata: { name: node } });
  await kube.apply(
    kinds.node,
    { metadata: { name: node }, status: { capacity: size, allocatable: size } },
    { subresource: "status" },
  );
  const overhead = { podFixed: { cpu: "125m", memory: "80Mi" } };
  await kube.create(kinds.runtimeClass, { metadata: { name: "heavy" }, handler: "heavy", overhead });
  const namespace = "default";
  await eventually("the service account", () => kube.get(kinds.serviceAccount, { namespace, name: "default" }));
  for (const [name, spec] of Object.entries(specs)) {
    await kube.create(kinds.pod, {
      metadata: { name: name.toLowerCase(), namespace },
      spec: { nodeName: node, ...spec },
    });
  }
  for (const [name, status] of Object.entries(statuses)) {
    await kube.apply(kinds.pod, { metadata: { namespace, name }, status }, { subresource: "status" });
  }

  const pods = (await kube.list(kinds.pod)).map(projectPod);
  const { sum } = allocationOf(pods.filter((pod) => pod.node === node));
  const described = allocatedIn(await kubectl(`--kubeconfig=${kubeconfig}`, "describe", "node", node));
  assert.deepEqual(sum, { ...described, memoryBytes: described.memoryBytes + ramBytes });
  // So that the two do not agree on nothing: 350 + 3050 + 458 + 2000.
  assert.equal(sum.cpuMilli, 5_858n);
});
