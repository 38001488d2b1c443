/** The pod that reads one node's hardware: its object, and what is kept of a live one. */
import { createHash } from "node:crypto";
import { conditionHolds, fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";

export interface DiscoveryPodOptions {
  readonly namespace: string;
  /** The operator's own, so that both have the same version. */
  readonly image: string;
  /** For that image: Secrets in the same namespace. */
  readonly pullSecrets?: readonly string[];
  readonly port: number;
  /** False: it runs as user 65534 without capabilities. */
  readonly privileged: boolean;
}

export interface DiscoveryNode {
  readonly name: string;
  readonly uid: string;
}

const discoveryLabels = {
  "app.kubernetes.io/name": "inventory",
  "app.kubernetes.io/instance": "inventory-hardware-discovery",
  "app.kubernetes.io/component": "operator",
  "app.kubernetes.io/part-of": "provider",
} as const;

export const discoverySelector = Object.entries(discoveryLabels)
  .map(([key, value]) => `${key}=${value}`)
  .join(",");

const hostRoot = "/host";
/** Hash of the pod's spec; a pod with another one is replaced. */
const recipeAnnotation = "akash.network/discovery-recipe";
const namePrefix = "operator-inventory-hardware-discovery-";
const longestName = 253;

export function discoveryPodName(node: string): string {
  const name = namePrefix + node;
  if (name.length <= longestName) return name;
  const digest = createHash("sha256").update(node).digest("hex").slice(0, 10);
  return `${name.slice(0, longestName - digest.length - 1).replace(/[-.]+$/, "")}-${digest}`;
}

export function discoveryPod(node: DiscoveryNode, options: DiscoveryPodOptions): KubeObject {
  const spec = podSpec(node.name, options);
  return {
    metadata: {
      name: discoveryPodName(node.name),
      namespace: options.namespace,
      labels: discoveryLabels,
      annotations: { [recipeAnnotation]: recipeOf(spec) },
      // It goes with its node even while the operator is down.
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid }],
    } as KubeObject["metadata"],
    spec,
  };
}

function podSpec(
  nodeName: string,
  { image, pullSecrets = [], port, privileged }: DiscoveryPodOptions,
): Readonly<Record<string, unknown>> {
  const probe = { httpGet: { path: "/health", port }, timeoutSeconds: 5 };
  const mount = (name: string) => ({ name, mountPath: `${hostRoot}/${name}`, readOnly: true });
  const volume = (name: string) => ({ name, hostPath: { path: `/${name}`, type: "Directory" } });
  return {
    // Without the scheduler: it belongs on this node, full or not. Without a priority class: the kubelet makes room for a
    // critical pod by ending others, the tenants'.
    nodeName,
    tolerations: [{ operator: "Exists" }],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    containers: [
      {
        name: "discovery",
        image,
        args: ["operator", "inventory", "discover", `--api-port=${port}`, `--root=${hostRoot}`],
        ports: [{ name: "api", containerPort: port }],
        securityContext: privileged ? asRoot : unprivileged,
        volumeMounts: ["proc", "sys"].map(mount),
        // The kubelet rejects what a full node has no room for, and without a request the limit would be the request.
        resources: { requests: { cpu: "0", memory: "0" }, limits: { memory: "256Mi" } },
        readinessProbe: { ...probe, periodSeconds: 2 },
        livenessProbe: { ...probe, periodSeconds: 30, failureThreshold: 3 },
      },
    ],
    volumes: ["proc", "sys"].map(volume),
  };
}

/** Parts of /sys need root. Read-only prevents mistakes, not intruders: /proc/1/root is the whole machine. */
const asRoot = { privileged: true, runAsUser: 0, readOnlyRootFilesystem: true };

const unprivileged = {
  runAsNonRoot: true,
  runAsUser: 65_534,
  runAsGroup: 65_534,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

export type LivePod = ReturnType<typeof livePod>;

export function livePod(object: KubeObject) {
  const { name, uid = "", annotations, deletionTimestamp } = object.metadata;
  const status = fieldsOf(object["status"]);
  const { phase = "Pending", conditions, containerStatuses } = status;
  const waits = recordsOf(containerStatuses).map(({ state }) => fieldsOf(state)["waiting"]);
  const waiting = fieldsOf(waits.find(Boolean));
  return {
    name,
    uid,
    node: textOf(fieldsOf(object["spec"])["nodeName"]) ?? "",
    recipe: annotations?.[recipeAnnotation],
    ready: conditionHolds(conditions, "Ready"),
    finished: phase === "Succeeded" || phase === "Failed",
    deleting: deletionTimestamp !== undefined,
    /** Why it is not ready or has ended, from the kubelet. */
    reason: [status["reason"] ?? phase, status["message"], waiting["reason"], waiting["message"]]
      .filter(Boolean)
      .join(": "),
  };
}

export function isMadeAs(live: LivePod, node: string, options: DiscoveryPodOptions): boolean {
  return live.recipe === recipeOf(podSpec(node, options));
}

function recipeOf(spec: unknown): string {
  return createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16);
}
