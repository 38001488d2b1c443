/**
 * What happened to a lease, then what happens to it, for its tenant. It needs no request: what happened is in the
 * journal, for longer than the cluster keeps its Events, and what happens comes from the one watch that all leases share.
 */

import type { EventsRequest, TenantEvent, TenantLeases } from "../../../kube/tenant-access.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { LeaseEventKeeper } from "../events/lease-event-keeper.ts";
import type { LeaseEvent } from "../events/lease-history.ts";
import type { LiveObjects } from "../live-objects.ts";

/** Events that a reader of a lease's has not taken yet: more than the whole history of most leases. */
export const eventsWaiting = 1_000;

export function createLeaseEvents(
  keeper: Pick<LeaseEventKeeper, "of" | "onEvent">,
  leases: Pick<TenantLeases, "find">,
  live: Pick<LiveObjects, "workloads">,
) {
  const known = new WeakMap<LeaseEvent, TenantEvent>();

  return async function* events(lease: LeaseId, { services, follow, signal }: EventsRequest) {
    if (leases.find(lease).state === "unknown")
      throw new ProviderError("AKP_LEASE_NOT_IN_CLUSTER", { lease: formatLeaseId(lease) });
    const key = formatLeaseId(lease);
    const namespace = leaseNamespace(lease);
    const isRequested = (each: LeaseEvent) => isOf(each, services, workloadNames());
    const shown = (batch: readonly LeaseEvent[]) => batch.filter(isRequested).map(eventOf);
    const waiting = createWaiting(signal);
    // Subscribed before it is read, so that nothing falls between; what is in both is sent once.
    const unsubscribe = follow ? keeper.onEvent(key, waiting.add) : () => undefined;
    try {
      const happened = keeper.of(key);
      const sent = new Map(happened.map(({ key, count, atMs }) => [key, { count, atMs }]));
      const isNew = ({ key, count, atMs }: LeaseEvent) => {
        const before = sent.get(key);
        // What was forgotten since then counts from one.
        return !before || count > before.count || atMs > before.atMs;
      };
      yield shown(happened);
      while (follow && !signal.aborted) {
        const batch = shown((await waiting.take()).filter(isNew));
        if (batch.length > 0) yield batch;
      }
    } finally {
      unsubscribe();
      waiting.close();
    }

    function workloadNames(): string[] {
      return services ? [...live.workloads(namespace)].map(({ name }) => name) : [];
    }

    function eventOf(each: LeaseEvent) {
      const event = known.get(each) ?? newEvent(each, objectOf(each.object));
      known.set(each, event);
      return event;
    }

    /** What we say ourselves is about a service or the whole, which the cluster has under other names. */
    function objectOf(text: string) {
      const [kind = "", ...words] = text.split(" ");
      const name = words.join(" ");
      if (text === "") return { kind: "Namespace", namespace, name: namespace };
      if (kind !== "service") return { kind, namespace, name };
      const workload = [...live.workloads(namespace)].find((each) => each.name === name);
      return { kind: workload?.kind.kind ?? "Deployment", namespace, name };
    }
  };
}

function newEvent(
  { type, reason, note, reportingController, reportingInstance }: LeaseEvent,
  object: TenantEvent["object"],
): TenantEvent {
  return { type, reportingController, reportingInstance, reason, note, object };
}

function createWaiting(signal: AbortSignal) {
  let waiting: LeaseEvent[] = [];
  let arrived = Promise.withResolvers<void>();
  const wake = () => arrived.resolve();
  signal.addEventListener("abort", wake);
  return {
    add(event: LeaseEvent): void {
      if (waiting.length <= eventsWaiting) waiting.push(event);
      wake();
    },
    /** Empty once the client is gone. */
    async take(): Promise<readonly LeaseEvent[]> {
      if (waiting.length === 0 && !signal.aborted) await arrived.promise;
      if (waiting.length > eventsWaiting) throw new ProviderError("AKP_STREAM_TOO_SLOW", {});
      arrived = Promise.withResolvers();
      const taken = waiting;
      waiting = [];
      return signal.aborted ? [] : taken;
    },
    close: () => signal.removeEventListener("abort", wake),
  };
}

/** By what it is about: Events carry no label of the service. */
function isOf({ object }: LeaseEvent, services: ReadonlySet<string> | undefined, known: readonly string[]) {
  if (!services) return true;
  const service = serviceOfObject(object, (name) => services.has(name) || known.includes(name));
  return service !== undefined && services.has(service);
}

// To which service a thing of a lease belongs, by its name: of one that is gone there is nothing else left.

/** Of something like "Pod web-5d9c7b-x2kqz"; where it may be of several, of the one with the longest name. */
export function serviceOfObject(object: string, isService: (name: string) => boolean): string | undefined {
  const at = object.indexOf(" ");
  const [kind, name] = [object.slice(0, at), object.slice(at + 1)];
  const family = familyOf(kind, name);
  // By what the name can mean, which is little: of services a tenant may name as many as a request can hold.
  for (let end = family.length; end > 0; end = family.lastIndexOf("-", end - 1)) {
    const service = family.slice(0, end);
    if (belongs(kind, family, service) && isService(service)) return service;
  }
  return undefined;
}

/** The characters of which Kubernetes generates the ends of names. */
const char = "[bcdfghjklmnpqrstvwxz2456789]";
const podOfDeployment = new RegExp(`-${char}{1,10}-${char}{5}$`);
const replicaSet = new RegExp(`-${char}{1,10}$`);
const numbered = /-\d+$/;

/** The name without what differs between replicas and updates. */
export function familyOf(kind: string, name: string): string {
  if (kind === "ReplicaSet") return name.replace(replicaSet, "");
  if (kind !== "Pod" && kind !== "PersistentVolumeClaim") return name;
  const family = kind === "Pod" ? name.replace(podOfDeployment, "") : name;
  return family === name ? name.replace(numbered, "") : family;
}

function belongs(kind: string, family: string, service: string): boolean {
  // A claim is called after the service, the volume, and the workload, which is the service again.
  if (kind === "PersistentVolumeClaim") return family.startsWith(`${service}-`) && family.endsWith(`-${service}`);
  // Two Services lead to one: that within the lease, and that with ports of the nodes.
  return family === service || (kind === "Service" && family === `${service}-np`);
}
