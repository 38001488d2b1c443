import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "../../kube/kube.ts";
import { healthNameChars, podFacts } from "./pod-health.ts";

interface Shape {
  readonly status?: object;
  readonly node?: string;
  readonly image?: string;
  readonly leaving?: boolean;
}

function pod({ status = {}, node = "secret-node-7", image = "reg.example.com/web:1", leaving = false }: Shape = {}) {
  return {
    metadata: {
      name: "web-1",
      namespace: "ns",
      labels: { "akash.network/manifest-service": "web" },
      creationTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences: [{ kind: "ReplicaSet", controller: true }],
      ...(leaving && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    spec: { containers: [{ name: "web", image }], ...(node !== "" && { nodeName: node }) },
    status,
  } as KubeObject;
}

const waiting = (reason: string, message = "", more: object = {}) => ({
  status: { phase: "Pending", containerStatuses: [{ name: "web", state: { waiting: { reason, message } }, ...more }] },
});
const crashLoop = (end: object, restartCount = 5) =>
  waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=web pod=web-1_ns(uid)", {
    restartCount,
    lastState: { terminated: end },
  });
const unplaced = (message: string) => ({
  node: "",
  status: {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
  },
});
const failed = (reason: string, message: string) => ({ status: { phase: "Failed", reason, message } });
const pull = (cause: string) =>
  waiting("ErrImagePull", `rpc error: code = Unknown desc = failed to pull and unpack image: ${cause} at 10.1.2.3:443`);

/** What the cluster wrote, and what a tenant reads. */
const rows: readonly (readonly [string, Shape, string, RegExp])[] = [
  [
    "a crash loop",
    crashLoop({ exitCode: 3, reason: "Error" }),
    "CrashLoop",
    /exit code 3, started again 5 times: its logs/,
  ],
  [
    "an end that is no crash",
    crashLoop({ exitCode: 0, reason: "Completed" }, 1),
    "CrashLoop",
    /code 0, started again once/,
  ],
  ["too much memory", crashLoop({ exitCode: 137, reason: "OOMKilled" }), "OutOfMemory", /give it more memory/],
  [
    "just ended",
    { status: { containerStatuses: [{ name: "web", state: { terminated: { exitCode: 1, reason: "Error" } } }] } },
    "CrashLoop",
    /exit code 1:/,
  ],
  [
    "a command that is not there, found by the runtime",
    crashLoop({ exitCode: 128, reason: "StartError", message: 'exec: "/run": stat /run: no such file or directory' }),
    "CannotStart",
    /the command is not in the image/,
  ],
  ["an image that is not there", pull("docker.io/x: not found"), "ImageError", /no such image or tag/],
  ["a private image", pull("401 Unauthorized"), "ImageError", /private image needs credentials/],
  ["a limit of the registry", pull("429 Too Many Requests"), "ImageError", /has a limit/],
  ["a registry that is away", pull("dial tcp: lookup reg: no such host"), "ImageError", /does not answer/],
  ["another machine's image", pull("no match for platform in manifest"), "ImageError", /processors/],
  [
    "a pull that waits",
    waiting("ImagePullBackOff", 'Back-off pulling image "x"'),
    "ImageError",
    /web:1" cannot be pulled$/,
  ],
  ["no name of an image", { ...waiting("InvalidImageName"), image: "A B" }, "ImageError", /"A B" is not a name/],
  ["an unreadable secret", waiting("CreateContainerConfigError", 'secret "x"'), "CannotStart", /cannot be started/],
  [
    "no room",
    unplaced("0/3 nodes are available: 2 Insufficient cpu, 1 Insufficient nvidia.com/gpu."),
    "Unschedulable",
    /not enough cpu, gpus$/,
  ],
  [
    "no place",
    unplaced("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."),
    "Unschedulable",
    /^no machine can take it now$/,
  ],
  [
    "a volume that is not made",
    unplaced("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
    "VolumeNotBound",
    /waits for its volume/,
  ],
  [
    "a volume elsewhere",
    unplaced("0/2 nodes are available: 1 node(s) had volume node affinity conflict."),
    "VolumeNotBound",
    /cannot be moved/,
  ],
  [
    "evicted for memory",
    failed("Evicted", "The node was low on resource: memory. Container web was using 2Gi"),
    "Evicted",
    /ran short of memory/,
  ],
  [
    "evicted for its disk",
    failed("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 64Mi."),
    "Evicted",
    /more storage/,
  ],
  [
    "evicted for the machine's disk",
    failed("Evicted", "The node was low on resource: ephemeral-storage."),
    "Evicted",
    /ran full/,
  ],
  [
    "a machine that was shut down",
    failed("Terminated", "Pod was terminated in response to imminent node shutdown."),
    "Evicted",
    /shut down/,
  ],
  [
    "turned away by a kubelet",
    failed("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu"),
    "Unschedulable",
    /after all/,
  ],
];

describe("the tenant sees why a pod is not ready", () => {
  for (const [what, shape, reason, message] of rows) {
    test(what, () => {
      const { problem } = podFacts(pod(shape));
      assert.equal(problem?.reason, reason);
      assert.match(problem?.message ?? "", message);
      // Nothing that is ours alone.
      assert.doesNotMatch(problem?.message ?? "", /secret-node-7|10\.1\.2\.3|\d+\/\d+ nodes|web-1/);
    });
  }
});

test("a pod that merely starts has no problem, and one that is ready or leaves none either", () => {
  const ready = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
  const facts = [
    waiting("ContainerCreating"),
    waiting("PodInitializing"),
    { node: "" },
    ready,
    { ...ready, leaving: true },
  ]
    .map((shape) => podFacts(pod(shape)))
    .map(({ state, problem }) => [state, problem]);
  assert.deepEqual(facts, [
    ["unready", undefined],
    ["unready", undefined],
    ["unready", undefined],
    ["ready", undefined],
    ["leaving", undefined],
  ]);
});

test("messages are short for any name and shape of a pod", () => {
  const long = podFacts(pod({ ...waiting("ErrImagePull", "x".repeat(1e6)), image: `${"y".repeat(1e5)}\u0000` }));
  assert.ok((long.problem?.message.length ?? 0) < healthNameChars + 100);
  for (const status of [7, "x", null, { containerStatuses: [null, 3, { state: "x" }], conditions: "y" }]) {
    assert.equal(podFacts(pod({ status: status as object })).problem, undefined);
  }
});
