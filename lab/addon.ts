/** Components that run in the cluster as pods, rather than beside it as processes. */
import { callApi } from "./api.ts";
import { kubectl } from "./kubectl.ts";

export interface Addon {
  readonly name: string;
  /** Definitions of custom resources, as YAML: they must be known before the first object that needs them. */
  definitions?(): string;
  objects(): readonly object[];
  /** The Deployment that has to be available. */
  readonly deployment: { readonly namespace: string; readonly name: string };
}

export async function install(addon: Addon): Promise<void> {
  if (addon.definitions) {
    await apply(addon.definitions());
    await kubectl(["wait", "--for=condition=Established", "--timeout=30s", "--filename=-"], addon.definitions());
  }
  await apply(JSON.stringify({ apiVersion: "v1", kind: "List", items: addon.objects() }));
}

/** Its newest pods run and are ready, and no older ones are left. */
export async function isAvailable({ deployment: { namespace, name } }: Addon): Promise<boolean> {
  const answer = await callApi(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  if (answer.status !== 200) return false;
  const { metadata, spec, status } = JSON.parse(answer.body) as {
    metadata: { generation: number };
    spec: { replicas: number };
    status: { observedGeneration?: number; replicas?: number; updatedReplicas?: number; availableReplicas?: number };
  };
  const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
  return status.observedGeneration === metadata.generation && counts.every((count) => count === spec.replicas);
}

/** Diagnostics for a deployment that does not become available. */
export async function describe({ deployment: { namespace } }: Addon): Promise<string> {
  const pods = await kubectl(["get", "pods", "--namespace", namespace]);
  const events = await kubectl(["get", "events", "--namespace", namespace, "--sort-by=.lastTimestamp"]);
  return `${pods}${events.split("\n").slice(-10).join("\n")}`;
}

/** A service account that may do this everywhere. */
export function account(name: string, namespace: string, rules: readonly object[]): object[] {
  const apiGroup = "rbac.authorization.k8s.io";
  const metadata = { name: `lab:${name}` };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    { apiVersion: `${apiGroup}/v1`, kind: "ClusterRole", metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
}

async function apply(text: string): Promise<void> {
  // The server merges, so objects that are as they should be stay as they are.
  await kubectl(["apply", "--server-side", "--force-conflicts", "--field-manager=lab", "--filename=-"], text);
}
