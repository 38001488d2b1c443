/**
 * From a lease to the objects that run it. Each service's objects depend on that service alone, so a change in one
 * leaves the pods of the others as they are.
 */
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { kinds, objectText } from "../kinds.ts";
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
