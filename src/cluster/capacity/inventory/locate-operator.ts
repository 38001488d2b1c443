/** Where the inventory operator is. The network's chart and ours name its Service differently; its labels are the same. */
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import type { GrpcTarget } from "../../../runtime/grpc/grpc-client.ts";
import { operatorNamespace as namespace, type OperatorLocation, reachOperator } from "../operator-location.ts";

const labels = { name: "inventory", instance: "inventory-service", component: "operator", "part-of": "provider" };
const labelSelector = Object.entries(labels)
  .map(([key, value]) => `app.kubernetes.io/${key}=${value}`)
  .join(",");

const sought = {
  operator: "inventory operator",
  setting: "--inventory-operator-endpoint",
  portName: "grpc",
  find: async (kube: Kube, signal: AbortSignal) =>
    (await kube.list(kinds.service, { namespace, labelSelector, signal }))[0],
  absent: `no Service in ${namespace} has the labels ${labelSelector}`,
} as const;

export function locateInventory(location: OperatorLocation, signal: AbortSignal): Promise<GrpcTarget> {
  return reachOperator(sought, location, signal);
}
