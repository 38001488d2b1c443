/**
 * From a lease to the objects that run it. Each service's objects depend on that service alone, so a change in one
 * leaves the pods of the others as they are.
 */
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { kinds } from "../kinds.ts";
import { credentialsOf } from "./credentials.ts";
import { leaseLabels } from "./lease-labels.ts";
import type { DesiredObject, LeaseObjects, LeaseWorkload, ObjectSettings } from "./lease-workload.ts";
import { networkPolicies } from "./network-policies.ts";
import { networkServices } from "./network-services.ts";
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
    policies: networkPolicies(workload, settings.policies),
    credentials: services.flatMap(credentialsOf),
    workloads: services.map((service) => workloadObject(service, settings)),
    services: services.flatMap(networkServices),
  };
}

/** What Kubernetes refuses there, whoever asks for it: host access, privileged containers. */
const podSecurity = { "pod-security.kubernetes.io/enforce": "baseline" };

function leaseNamespaceObject({ lease }: LeaseWorkload): DesiredObject {
  const labels = { ...leaseLabels(lease), ...podSecurity };
  return { kind: kinds.namespace, object: { metadata: { name: leaseNamespace(lease), labels } } };
}
