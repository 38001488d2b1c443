/** Thousands of nodes and pods on a real API server, with KWOK as their kubelets; each as large as a provider's are. */
import { controlPlaneMissing, startControlPlane } from "../lab/own-control-plane.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { inParallel } from "../src/runtime/in-parallel.ts";
import { openKube } from "../test/lab/open-kube.ts";
import type { Owner } from "../test/support/owner.ts";
import { size } from "./report.ts";

export const nodes = size(1_000, 20);
export const pods = size(10_000, 200);
/** The first of them, to see what grows with their number; in a namespace of their own, so that they can be read alone. */
export const fewPods = size(1_000, 20);
export const fewNamespace = "few";

/** As many as keep a small API server busy. */
const width = 16;
/** What KWOK may take for the statuses of what was just made: it patches a hundred and more in a second. */
const settlesWithinMs = 300_000;

/** An API server with KWOK, which go with their owner; undefined, and said so, where they cannot run. */
export async function startFakeCluster(owner: Owner): Promise<string | undefined> {
  const missing = controlPlaneMissing(["kube", "kwok"]);
  if (missing) {
    console.log(`not run: ${missing}`);
    return undefined;
  }
  const { kubeconfig } = await startControlPlane(owner, { kwok: true });
  const kube = openKube(owner, kubeconfig);
  await kube.create(kinds.namespace, { metadata: { name: fewNamespace } });
  return kubeconfig;
}

/** Makes the nodes that are not there yet. */
export async function makeNodes(kube: Kube): Promise<void> {
  const { length: there } = await kube.list(kinds.node);
  const objects = Array.from({ length: nodes - there }, (_, n) => nodeObject(there + n));
  await inParallel(objects, width, (object) => kube.create(kinds.node, object));
  await untilNone(async () => (await kube.list(kinds.node)).filter((node) => !isReady(node)));
}

/** Creates missing pods with a node name, round robin over the nodes, so that they need no scheduler. */
export async function makePods(kube: Kube, count: number): Promise<void> {
  const { length: there } = await kube.list(kinds.pod);
  const objects = Array.from({ length: count - there }, (_, n) => podObject(there + n));
  await inParallel(objects, width, (object) => kube.create(kinds.pod, object));
  await untilNone(() => kube.list(kinds.pod, { fieldSelector: "status.phase!=Running" }));
}

export function podName(n: number): string {
  return `web-${n}-5d8c7b9f4-x2x7q`;
}

/** Waits until KWOK has set every status. Polls slowly: a watch of them all would take as long as KWOK itself. */
async function untilNone(unfinished: () => Promise<readonly KubeObject[]>): Promise<void> {
  const deadlineMs = performance.now() + settlesWithinMs;
  for (let left = await unfinished(); left.length > 0; left = await unfinished()) {
    if (performance.now() > deadlineMs) throw new Error(`${left.length} objects have no status yet; does KWOK run?`);
    await sleep(realClock, 500);
  }
}

function isReady(object: KubeObject): boolean {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

export function nodeName(n: number): string {
  return `node-${String(n).padStart(4, "0")}`;
}

function nodeObject(n: number): KubeObject {
  const capacity = { cpu: "64", memory: "527816612Ki", "ephemeral-storage": "1843269236Ki", pods: "110" };
  const name = nodeName(n);
  const labels = {
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "akash.network": "true",
    "akash.network/capabilities.storage.class.beta3": "true",
    "akash.network/capabilities.gpu.vendor.nvidia.model.h100": "8",
  };
  return {
    metadata: { name, labels },
    status: {
      capacity: { ...capacity, "nvidia.com/gpu": "8" },
      allocatable: { ...capacity, "nvidia.com/gpu": "8" },
      nodeInfo: {
        kernelVersion: "6.8.0-45-generic",
        osImage: "Ubuntu 24.04.1 LTS",
        containerRuntimeVersion: "containerd://1.7.22",
      },
      // A kubelet reports the fifty largest.
      images: Array.from({ length: 50 }, (_, image) => ({
        names: [
          `registry.example/tenant-${image}@sha256:${"0123456789abcdef".repeat(4)}`,
          `registry.example/tenant-${image}:1.${n}`,
        ],
        sizeBytes: 100_000_000 + image,
      })),
    },
  };
}

/** A tenant's web server, as the provider makes it. */
function podObject(n: number): KubeObject {
  const resources = { cpu: "500m", memory: "512Mi", "ephemeral-storage": "1Gi" };
  const environment = {
    AKASH_GROUP_SEQUENCE: "1",
    AKASH_DEPLOYMENT_SEQUENCE: String(1_000_000 + n),
    AKASH_ORDER_SEQUENCE: "1",
    AKASH_OWNER: "akash1365yvmc4s7awdyj3n2sav7xfx76adc6dnmlx63",
    AKASH_PROVIDER: "akash18qa2a2ltfyvkyj0ggj3hkvuj6twzyumuaru9s4",
    AKASH_CLUSTER_PUBLIC_HOSTNAME: "provider.example.com",
    DATABASE_URL: `postgres://web:secret@database-${n}:5432/web`,
    LOG_LEVEL: "info",
  };
  const labels = {
    "akash.network": "true",
    "akash.network/manifest-service": "web",
    "akash.network/namespace": `s${n}q9f6b2s0c8m5v7x1z3l4k6j8h0g2f5d7`,
    "akash.network/lease.id.dseq": String(1_000_000 + n),
    "pod-template-hash": "5d8c7b9f4",
  };
  return {
    metadata: { namespace: n < fewPods ? fewNamespace : "default", name: podName(n), labels },
    spec: {
      nodeName: nodeName(n % nodes),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: [
        {
          name: "web",
          image: `registry.example/tenant-${n % 50}:1.${n}`,
          args: ["serve", "--port", "8080"],
          env: Object.entries(environment).map(([name, value]) => ({ name, value })),
          ports: [{ name: "web-0", containerPort: 8080 }],
          resources: { requests: resources, limits: resources },
          securityContext: { runAsNonRoot: false, privileged: false, allowPrivilegeEscalation: false },
        },
      ],
    },
  };
}
