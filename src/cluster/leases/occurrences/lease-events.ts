/** Tells people who look at a lease's namespace with kubectl: an Event about the workload, or about the lease as a whole. */
import type { EventRecorder, ObjectReference, Occurrence } from "../../../kube/event-recorder.ts";
import { apiVersionOf } from "../../../kube/kinds.ts";
import { readLeaseId } from "../../../kube/objects/lease-labels.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import type { LiveObjects } from "../live-objects.ts";

/** Whom it is about: a service, or without one the lease. */
type Said = Omit<Occurrence, "regarding"> & { readonly service?: string };
export type Tell = (leaseId: string, said: Said) => void;

type Live = Pick<LiveObjects, "namespace" | "workloads">;

export function tellAbout(live: Live, recorder: Pick<EventRecorder, "record">): Tell {
  return (leaseId, { service, ...said }) => {
    const id = readLeaseId(leaseId.split("/"));
    const regarding = id && objectOf(live, leaseNamespace(id), service);
    if (regarding) recorder.record({ regarding, ...said });
  };
}

/** Undefined where the namespace is not there or on its way out, and takes no Events. */
function objectOf(live: Live, namespace: string, service: string | undefined): ObjectReference | undefined {
  const home = live.namespace(namespace);
  if (!home || home.deletingSinceMs !== undefined) return undefined;
  for (const { kind, name, uid } of service === undefined ? [] : live.workloads(namespace)) {
    if (name !== service) continue;
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace, uid };
  }
  // It is in itself, so that the Event is where the tenant looks and not in `default`.
  return { apiVersion: "v1", kind: "Namespace", name: namespace, namespace, uid: home.uid };
}
