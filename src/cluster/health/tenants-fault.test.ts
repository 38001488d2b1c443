/** Which causes count towards closing a lease, from what Kubernetes writes about its objects. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "../../kube/kube.ts";
import { type HealthFacts, judge } from "./judge.ts";
import type { LeaseHealth } from "./lease-health.ts";
import { podFacts } from "./pod-health.ts";

const image = "ghcr.io/me/web:1";

interface Shape {
  readonly service?: string;
  readonly node?: string;
  readonly status?: object;
  /** Which replica of a stateful set; undefined for a pod of a deployment. */
  readonly ordinal?: number;
  readonly named?: string;
  readonly isLeaving?: boolean;
}

function podOf({
  service = "web",
  node = "one",
  status = {},
  ordinal,
  named = image,
  isLeaving = false,
}: Shape): KubeObject {
  return {
    metadata: {
      name: `${service}-${ordinal ?? "abc"}`,
      labels: { "akash.network/manifest-service": service },
      ...(ordinal !== undefined && { ownerReferences: [{ kind: "StatefulSet" }] }),
      ...(isLeaving && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    spec: { containers: [{ name: service, image: named }], ...(node !== "" && { nodeName: node }) },
    status,
  } as KubeObject;
}

const container = (state: object, more: object = {}, name = "web") => ({ name, state, ...more });
const waits = (reason: string, message = "", more: object = {}): Shape => ({
  status: { phase: "Pending", containerStatuses: [container({ waiting: { reason, message } }, more)] },
});
const loops = (end: object, more: Shape = {}): Shape => ({
  ...waits("CrashLoopBackOff", "back-off 5m0s", { restartCount: 5, lastState: { terminated: end } }),
  ...more,
});
const crash = { exitCode: 1, reason: "Error" };
const unplaced = (message: string): Shape => ({
  node: "",
  status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] },
});
const pull = (words: string) => waits("ErrImagePull", `failed to pull and unpack image "${image}": ${words}`);
const starts = (words: string) => loops({ exitCode: 128, reason: "StartError", message: `runc: ${words}` });
const ready: Shape = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
const mounting = {
  phase: "Pending",
  containerStatuses: [container({ waiting: { reason: "ContainerCreating" } }, {}, "store")],
};

const completed = { containerStatuses: [container({ terminated: { exitCode: 0, reason: "Completed" } }, {}, "store")] };

interface Given extends Partial<Omit<HealthFacts, "pods">> {
  readonly pods?: readonly Shape[];
}

function health({ pods = [], ...given }: Given, before?: LeaseHealth): LeaseHealth {
  const workloads = new Map([["web", { isSet: false, failure: undefined }]]);
  const facts = { services: [{ name: "web", count: 1 }], claims: [], isNodeReady: () => true, takesPods: () => true };
  const nowMs = Date.UTC(2026, 0, 2);
  return judge({ ...facts, workloads, nowMs, ...given, pods: pods.map((each) => podFacts(podOf(each))) }, before);
}

const set = { isSet: true, failure: undefined };
const deployment = { isSet: false, failure: undefined };
const webAndStore = new Map([
  ["web", deployment],
  ["store", set],
]);
const three = { services: [{ name: "web", count: 3 }], workloads: new Map([["web", set]]) };
const fails = (failure: string) => ({ workloads: new Map([["web", { isSet: false, failure }]]) });
const both = [
  { name: "web", count: 1 },
  { name: "store", count: 1 },
];
const claims = [{ service: "store", storageClass: "beta3", phase: "Bound" }];
const gone = { isNodeReady: (node: string) => node !== "gone", takesPods: (node: string) => node !== "gone" };
const closed = { takesPods: (node: string) => node !== "closed" };
const calling = 'Internal error occurred: failed calling webhook "validate.kyverno.svc-fail": connection refused';

const counted: Readonly<Record<string, Given>> = {
  "a crash loop": { pods: [loops(crash)] },
  "a crash loop of one replica, while the set has not made the later ones": {
    ...three,
    pods: [{ ...ready, ordinal: 0 }, loops(crash, { ordinal: 1 })],
  },
  "an OOM kill": { pods: [loops({ exitCode: 137, reason: "OOMKilled" })] },
  "a container that crashed just now": {
    pods: [{ status: { containerStatuses: [container({ terminated: crash })] } }],
  },
  "an image that does not exist": { pods: [pull("not found")] },
  ...Object.fromEntries(
    ["geofabrik/nominatim:1", "me/tls-proxy:1", "me/timeout"].map((named) => {
      const url = `"https://registry-1.docker.io/v2/${named.replace(":1", "")}/manifests/1"`;
      return [
        `${named}, which does not exist`,
        { pods: [{ ...pull(`"docker.io/${named}": Head ${url}: not found`), named }] },
      ];
    }),
  ),
  "an image that may not be pulled": { pods: [pull("401 Unauthorized")] },
  "a private image, by Docker's registry": { pods: [pull("pull access denied, repository does not exist")] },
  "an image for other processors": { pods: [pull("no match for platform in manifest")] },
  "an image name that cannot be parsed": { pods: [waits("InvalidImageName")] },
  "a command that is not in the image": { pods: [starts('exec: "/run": stat /run: no such file or directory')] },
  "a command that is not in the search path": {
    pods: [starts('exec: "serve": executable file not found in $PATH')],
  },
  "a script whose interpreter is not in the image": { pods: [starts("exec /run.sh: no such file or directory")] },
  "a command that is not in the image, by crun": {
    pods: [starts("executable file `/run` not found: No such file or directory")],
  },
  "a command that may not be executed": { pods: [starts('exec: "/run": permission denied')] },
  "a program for other processors": { pods: [starts("exec /run: exec format error")] },
  "a manifest that the API server rejects": {
    workloads: new Map(),
    rejection: 'Kubernetes refused to apply statefulsets.apps store of ns (422): spec.volumeMounts: "quota" is invalid',
  },
};

const notCounted: Readonly<Record<string, Given>> = {
  "a node that is not heard of": { pods: [{ ...ready, node: "gone" }], ...gone },
  "a crash loop on a tainted or cordoned node": { pods: [loops(crash, { node: "closed" })], ...closed },
  "a crash loop whose lease has another pod on such a node": {
    services: both,
    pods: [loops(crash), { ...ready, service: "store", node: "closed" }],
    ...closed,
  },
  "a crash loop of a replica whose predecessor is still on a node that is not heard of": {
    pods: [loops(crash), { ...ready, node: "gone", isLeaving: true }],
    ...gone,
  },
  "no room": { pods: [unplaced("0/3 nodes are available: 3 Insufficient cpu.")] },
  "only tainted nodes": { pods: [unplaced("0/1 nodes are available: 1 node(s) had untolerated taint(s).")] },
  "only cordoned nodes": { pods: [unplaced("0/1 nodes are available: 1 node(s) were unschedulable.")] },
  "a volume on another node": {
    pods: [unplaced("0/2 nodes are available: 2 node(s) had volume node affinity conflict.")],
  },
  "a volume that is not made": { pods: [unplaced("pod has unbound immediate PersistentVolumeClaims.")] },
  "a volume that does not attach": {
    services: [{ name: "store", count: 1 }],
    workloads: new Map(),
    claims,
    pods: [{ service: "store", status: mounting }],
  },
  "a crash loop while another service waits for its volume": {
    services: both,
    claims,
    pods: [loops(crash), { service: "store", status: mounting }],
  },
  // Only Events say why a stateful set makes no pod: it has no ReplicaFailure condition.
  "a crash loop beside a stateful set without a pod": {
    services: both,
    workloads: webAndStore,
    pods: [loops(crash)],
  },
  "a crash loop beside a service of which nothing was made": { services: both, pods: [loops(crash)] },
  "a crash loop of one replica, while the set has not made one before it": {
    ...three,
    pods: [{ ...ready, ordinal: 0 }, loops(crash, { ordinal: 2 })],
  },
  "a crash loop of a replica of a deployment, while another was not made": {
    services: [{ name: "web", count: 2 }],
    pods: [loops(crash)],
  },
  "an image that is being pulled": { pods: [waits("ContainerCreating")] },
  "an update whose image is being pulled": { pods: [loops(crash), waits("ContainerCreating")] },
  "a registry that does not answer": { pods: [pull("dial tcp: lookup ghcr.io: no such host")] },
  "a registry that does not answer, for an image with 404 in its name": {
    pods: [waits("ErrImagePull", 'failed to pull "x/not-found:404": connection refused')],
  },
  "a registry's rate limit": { pods: [pull("429 Too Many Requests")] },
  "a registry's own failure": { pods: [pull("unexpected status: 502 Bad Gateway")] },
  "a full disk": { pods: [pull("write /var/lib/containerd: no space left on device")] },
  "a node that lost a layer of the image": {
    pods: [
      pull(
        "failed to extract layer sha256:8032: failed to get reader from content store: content digest sha256:2729: not found",
      ),
    ],
  },
  "a node that lost a snapshot of the image": {
    pods: [pull("failed to prepare extraction snapshot: parent snapshot sha256:8032 does not exist: not found")],
  },
  "a pull that waits, of unknown cause": { pods: [waits("ImagePullBackOff", `Back-off pulling image "${image}"`)] },
  "a job's clean exit": { pods: [loops({ exitCode: 0, reason: "Completed" })] },
  "a crash loop beside a clean exit": {
    services: both,
    pods: [loops(crash), { service: "store", status: completed }],
  },
  "a container whose end was not observed": { pods: [loops({ exitCode: 137, reason: "ContainerStatusUnknown" })] },
  "a container that the runtime cannot create": { pods: [starts("nvidia-container-cli: initialization error")] },
  "a library of the GPU driver that a node lacks": {
    pods: [
      starts(
        "error running hook #0: nvidia-container-cli: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory",
      ),
    ],
  },
  "a profile that a node cannot apply": {
    pods: [starts("apply apparmor profile: write /proc/self/attr/apparmor/exec: no such file or directory")],
  },
  "a runtime that a node lacks": {
    pods: [
      starts(
        "unable to retrieve OCI runtime error: fork/exec /usr/bin/nvidia-container-runtime: no such file or directory",
      ),
    ],
  },
  "a cgroup that cannot be written": { pods: [starts("mkdir /sys/fs/cgroup/x: permission denied")] },
  "a mount that fails": { pods: [starts('error mounting "/var/lib/kubelet/x" to rootfs: no such file or directory')] },
  "a secret that is not there": { pods: [waits("CreateContainerConfigError", 'secret "x" not found')] },
  "a container that the cluster has put beside the tenant's": {
    pods: [
      {
        status: {
          containerStatuses: [
            container({ running: {} }),
            container({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: { terminated: crash } }, "proxy"),
          ],
        },
      },
    ],
  },
  "a webhook that does not answer": fails(calling),
  "a webhook that rejects pods": fails('admission webhook "validate.kyverno.svc" denied the request: no'),
  "a quota": fails('pods "web-x" is forbidden: exceeded quota: q'),
  "a crash loop while a webhook rejects the next pod": { ...fails(calling), pods: [loops(crash)] },
  "a manifest that a webhook rejects": {
    workloads: new Map(),
    rejection: 'Kubernetes refused to apply pods web (403): admission webhook "x.example.com" denied the request: no',
  },
  "a manifest that a policy rejects": {
    workloads: new Map(),
    rejection:
      "(422): deployments.apps is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
  },
  "nothing made yet": {},
  "no workload yet": { workloads: new Map() },
  "a healthy lease": { pods: [ready] },
};

describe("counts towards closing a lease", () => {
  for (const [cause, given] of Object.entries(counted)) {
    test(cause, () => assert.equal(health(given).isTenantsFault, true));
  }
});

describe("does not count towards closing a lease", () => {
  for (const [cause, given] of Object.entries(notCounted)) {
    test(cause, () => assert.equal(health(given).isTenantsFault, false));
  }
});

test("a pull that is tried again counts as its last failure did, also where the pause does not say why", () => {
  const pause = { pods: [waits("ImagePullBackOff", `Back-off pulling image "${image}"`)] };
  assert.equal(health(pause, health({ pods: [pull("not found")] })).isTenantsFault, true);
  assert.equal(health(pause, health({ pods: [pull("connection refused")] })).isTenantsFault, false);
});
