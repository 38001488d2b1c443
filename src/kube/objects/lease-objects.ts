/**
 * From a lease to the objects that run it. Each service's objects depend on that service alone, so a change in one
 * leaves the pods of the others as they are.
 */
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { isIngress, type ManifestExpose } from "../../market/manifest.ts";
import { kinds, objectText } from "../kinds.ts";
import type { ObjectSettings } from "./container.ts";
import { credentialsOf } from "./credentials.ts";
import { leaseLabels, serviceLabels } from "./lease-labels.ts";
import {
  type DesiredObject,
  type LeaseObjects,
  type LeaseWorkload,
  type ServiceWorkload,
  serviceObject,
} from "./lease-workload.ts";
import { networkPolicies } from "./network-policies.ts";
import { workloadObject } from "./workload-object.ts";

export function leaseObjects(workload: LeaseWorkload, settings: ObjectSettings): LeaseObjects {
  const { lease, group, offer } = workload;
  const services = group.services.map((service) => ({
    lease,
    service,
    offer: offer.find(({ id }) => id === service.resources.id),
  }));
  return {
    namespace: leaseNamespaceObject(workload),
    policies: eachOnce(networkPolicies(workload, settings.policies)),
    credentials: eachOnce(services.flatMap(credentialsOf)),
    workloads: eachOnce(services.map((service) => workloadObject(service, settings))),
    services: eachOnce(services.flatMap(networkServices)),
  };
}

/**
 * Services of odd names can want the same object ("apiserver-x" and "x-np" one policy). The first has it: two that each
 * put theirs in the other's place would write without end.
 */
function eachOnce(objects: readonly DesiredObject[]): DesiredObject[] {
  const named = new Map<string, DesiredObject>();
  for (const each of objects) {
    const text = objectText(each.kind, each.object.metadata);
    if (!named.has(text)) named.set(text, each);
  }
  return [...named.values()];
}

/** What Kubernetes refuses there, whoever asks for it: host access, privileged containers. */
const podSecurity = { "pod-security.kubernetes.io/enforce": "baseline" };

function leaseNamespaceObject({ lease }: LeaseWorkload): DesiredObject {
  const labels = { ...leaseLabels(lease), ...podSecurity };
  return { kind: kinds.namespace, object: { metadata: { name: leaseNamespace(lease), labels } } };
}

/**
 * The Kubernetes Services of a tenant's service: one inside the cluster, for other services and the ingress, and one with
 * ports of the nodes for what is open to the world.
 */
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
