/** All that a cluster holds, without what is different each time: versions, uids, times, addresses and drawn names. */
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds, resourceOf } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";

/** By "deployments.apps NAMESPACE/NAME". */
export type Snapshot = Readonly<Record<string, unknown>>;

/** Machines and what happened to them are not what a lease leaves behind. */
const others: readonly string[] = [
  "Node",
  "CSINode",
  "NodeMetrics",
  "PodMetrics",
  "Event",
  "CustomResourceDefinition",
  "Endpoints",
  "EndpointSlice",
  "Gateway",
  "HTTPRoute",
  "IPAddressPool",
  "L2Advertisement",
];

const left = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "observedGeneration",
  "clusterIP",
  "clusterIPs",
  "nodePort",
  "podIP",
  "podIPs",
  "containerID",
]);

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

export function snapshotOf({ server }: Pick<SimulatedCluster, "server">): Snapshot {
  const found: Record<string, unknown> = {};
  for (const kind of Object.values(kinds)) {
    // MetalLB is not in the clusters that are looked at so.
    if (others.includes(kind.kind) || kind.group === "metallb.io") continue;
    for (const object of server.list(kind)) {
      const { namespace = "", name } = object.metadata;
      const key = `${resourceOf(kind)} ${namespace}/${drawn(object) ?? name}`;
      found[key.replace(uid, "UID")] = JSON.parse(textOf(object));
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What its name was drawn for, where it was: a pod of a deployment has one that does not come again. */
function drawn({ metadata: { name, labels } }: KubeObject): string | undefined {
  return labels?.["pod-template-hash"] === undefined ? undefined : name.replace(/-[^-]+$/, "-*");
}

function textOf(object: KubeObject): string {
  const { name } = object.metadata;
  const text = JSON.stringify(object, (key, value) => (left.has(key) ? undefined : (value as unknown)));
  const timeless = text.replace(uid, "UID").replace(time, "TIME");
  return drawn(object) === undefined ? timeless : timeless.replaceAll(name, "NAME");
}
