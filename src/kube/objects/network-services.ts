/**
 * The Kubernetes Services of a tenant's service: one inside the cluster, for other services and the ingress, and one with
 * ports of the nodes for what is open to the world.
 */
import { isIngress, type ManifestExpose } from "../../market/manifest.ts";
import { kinds } from "../kinds.ts";
import { serviceLabels } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";
import { type ServiceWorkload, serviceObject } from "./service-workload.ts";

export function networkServices(workload: ServiceWorkload): DesiredObject[] {
  const { name, expose } = workload.service;
  const isInside = (each: ManifestExpose) => !each.global || isIngress(each);
  return [
    ...networkService(workload, name, "ClusterIP", expose.filter(isInside)),
    ...networkService(
      workload,
      `${name}-np`,
      "NodePort",
      expose.filter((each) => !isInside(each)),
    ),
  ];
}

function networkService(
  workload: ServiceWorkload,
  name: string,
  type: "ClusterIP" | "NodePort",
  expose: readonly ManifestExpose[],
): DesiredObject[] {
  if (expose.length === 0) return [];
  const { lease, service } = workload;
  const spec = { type, selector: serviceLabels(lease, service.name), ports: servicePorts(expose) };
  return [serviceObject(workload, kinds.service, name, { spec })];
}

/**
 * A port of a protocol leads to one place: the first that the manifest names. The name says both, so that it is unique
 * and stays the same whatever else is exposed: Kubernetes keeps the node's port for as long as the name stays.
 */
function servicePorts(expose: readonly ManifestExpose[]): object[] {
  const ports = new Map<string, object>();
  for (const { port: targetPort, externalPort, proto: protocol } of expose) {
    const port = externalPort || targetPort;
    const name = `${port}-${protocol.toLowerCase()}`;
    if (!ports.has(name)) ports.set(name, { name, port, targetPort, protocol });
  }
  return [...ports.values()];
}
