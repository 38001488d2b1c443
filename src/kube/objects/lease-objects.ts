/** The objects of a lease. Those of a service depend on it alone, so other pods keep running when it changes. */
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { isIngress, type ManifestExpose } from "../../market/manifest.ts";
import { kinds, objectText } from "../kinds.ts";
import type { ObjectSettings } from "./container.ts";
import { credentialObjects } from "./credentials.ts";
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
    credentials: eachOnce(services.flatMap(credentialObjects)),
    workloads: eachOnce(services.map((service) => workloadObject(service, settings))),
    services: eachOnce(services.flatMap(networkServices)),
  };
}

/** Names can collide ("apiserver-x" and "x-np"). The first wins, or two would overwrite each other forever. */
function eachOnce(objects: readonly DesiredObject[]): DesiredObject[] {
  const named = new Map<string, DesiredObject>();
  for (const each of objects) {
    const text = objectText(each.kind, each.object.metadata);
    if (!named.has(text)) named.set(text, each);
  }
  return [...named.values()];
}

/** Forbids host access and privileged containers. */
const podSecurity = { "pod-security.kubernetes.io/enforce": "baseline" };

function leaseNamespaceObject({ lease }: LeaseWorkload): DesiredObject {
  const labels = { ...leaseLabels(lease), ...podSecurity };
  return { kind: kinds.namespace, object: { metadata: { name: leaseNamespace(lease), labels } } };
}

/** Kubernetes Services of a tenant's service: one inside the cluster, and one with node ports for public ports. */
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

/** A port and protocol has its first target. Names are stable, since Kubernetes keeps the node port of a name. */
function servicePorts(expose: readonly ManifestExpose[]): object[] {
  const ports = new Map<string, object>();
  for (const { port: targetPort, externalPort, proto: protocol } of expose) {
    const port = externalPort || targetPort;
    const name = `${port}-${protocol.toLowerCase()}`;
    if (!ports.has(name)) ports.set(name, { name, port, targetPort, protocol });
  }
  return [...ports.values()];
}
