/**
 * What there is of our leases in the cluster: one cache for each kind of object that a lease is made of, whatever the
 * number of leases. So looking at a lease sends no request.
 */

import { fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../kube/kinds.ts";
import type { Kube, KubeObject, ObjectAt, WatchCache } from "../../kube/kube.ts";
import { defaultAccount } from "../../kube/objects/credentials.ts";
import { managedSelector, namespaceLabel } from "../../kube/objects/lease-labels.ts";
import { type LeasedService, readLeasedService } from "../../kube/objects/leased-ip.ts";
import { goProvider, goProviderEntry, type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import { parseTime } from "../../runtime/clock.ts";
import { cachesError } from "../cache-error.ts";
import { healthNameChars } from "../health/pod-health.ts";

export interface LiveObject {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Made by us, or by the Go provider before us. */
  readonly isOurs: boolean;
  /** The Go provider owns fields of it, so it has written since we last moved them to us. */
  readonly isFromBefore: boolean;
  /** Of a workload. */
  readonly replicas: number | undefined;
  readonly owned: OwnedFields;
  readonly deletingSinceMs: number | undefined;
  /** Why a workload's pods cannot be made, in the server's words. */
  readonly failure?: string;
  /** Of a stateful set: some of its pods are of an older template, and some are not ready. */
  readonly awaitsOldPod?: boolean;
  /** Of a workload: the service account that its template names, unless that is the namespace's default. */
  readonly runsAs?: string;
  /** Of a workload: some of its pods are of an older template, or its controller has not looked yet. */
  readonly isRolling?: boolean;
  /** Of a workload: how many of its replicas are how far, as its controller counted them. */
  readonly counts?: ReturnType<typeof countsOf>;
  /** Of a Service of type NodePort. */
  readonly nodePorts?: ReturnType<typeof nodePortsOf>;
  /** Of a Service that the IP operator made. */
  readonly leased?: LeasedService;
}

export interface LiveNamespace extends LiveObject {
  /** What keeps one that is being deleted, in the server's words. */
  readonly heldBy: readonly string[];
}

/** What a namespace of a lease holds, in the order in which it is taken away. */
const contentKinds = [
  kinds.service,
  kinds.deployment,
  kinds.statefulSet,
  kinds.roleBinding,
  kinds.role,
  kinds.serviceAccount,
  kinds.secret,
  kinds.configMap,
  kinds.networkPolicy,
] as const;

export const workloadKinds: readonly Kind[] = [kinds.deployment, kinds.statefulSet];

export type LiveObjects = ReturnType<typeof watchLiveObjects>;

/** `onChange` is called with the namespace of the lease of which something has changed. */
export function watchLiveObjects(
  kube: Pick<Kube, "watch" | "fieldManager">,
  manifestNamespace: string,
  onChange: (namespace: string) => void,
) {
  const { fieldManager } = kube;
  const project = (kind: Kind) => (object: KubeObject) => projectLive(kind, object, fieldManager);
  const restoredListeners: (() => void)[] = [];
  const selection = {
    labelSelector: managedSelector,
    withManagedFields: true,
    onServerRestored() {
      for (const listener of restoredListeners) listener();
    },
  };

  const namespaces = kube.watch<LiveNamespace>({
    ...{ kind: kinds.namespace, ...selection },
    project: (object) => ({ ...project(kinds.namespace)(object), heldBy: heldBy(object) }),
    handle: ({ name }) => onChange(name),
  });
  const manifests = kube.watch<KubeObject>({
    ...{ kind: kinds.manifest, namespace: manifestNamespace, ...selection },
    // Its name is that of the namespace.
    project: (object) => object,
    handle: ({ name }) => onChange(name),
  });
  const contents = new Map<Kind, WatchCache<LiveObject, "lease">>();
  for (const kind of contentKinds) {
    // Of a service account that the Go provider shall not find, the other label is gone (`leftAccount`).
    const labelSelector = kind === kinds.serviceAccount ? namespaceLabel : managedSelector;
    const cache = kube.watch<LiveObject, "lease">({
      ...{ kind, ...selection, labelSelector },
      indexes: { lease: ({ namespace }: LiveObject) => namespace },
      project: project(kind),
      handle: ({ namespace = "" }) => onChange(namespace),
    });
    contents.set(kind, cache);
  }
  const caches: ReadonlyMap<Kind, WatchCache<unknown>> = new Map<Kind, WatchCache<unknown>>([
    [kinds.namespace, namespaces],
    [kinds.manifest, manifests],
    ...contents,
  ]);

  return {
    namespace: (name: string) => namespaces.get({ name }),
    manifest: (name: string) => manifests.get({ namespace: manifestNamespace, name }),
    /** Every one with the network's label, also those of other programs. */
    namespaces: () => namespaces.list(),
    manifests: () => manifests.list(),
    /** What is known of an object, as `apply` wants to hear it. */
    owned(kind: Kind, at: ObjectAt): OwnedFields | null {
      if (kind === kinds.namespace) return namespaces.get(at)?.owned ?? null;
      if (kind === kinds.manifest) {
        const object = manifests.get(at);
        return object ? ownedFields(object, fieldManager) : null;
      }
      return contents.get(kind)?.get(at)?.owned ?? null;
    },
    get: (kind: Kind, at: ObjectAt) => contents.get(kind)?.get(at),
    /** Everything of a lease but its namespace, its custom resources and its volumes. */
    *contents(namespace: string): Iterable<LiveObject> {
      for (const cache of contents.values()) yield* cache.by("lease", namespace);
    },
    /** Deployments and stateful sets of a lease. */
    *workloads(namespace: string): Iterable<LiveObject> {
      for (const kind of workloadKinds) yield* contents.get(kind)?.by("lease", namespace) ?? [];
    },
    services: (namespace: string) => contents.get(kinds.service)?.by("lease", namespace) ?? [],
    /** Why nothing may be judged by it now. */
    get error(): string | undefined {
      return cachesError([...caches.values()]);
    },
    /** The same of some kinds: what is true of others stops no lease that does not use them. */
    errorOf(...used: readonly Kind[]): string | undefined {
      return cachesError(used.flatMap((kind) => caches.get(kind) ?? []));
    },
    kinds: [...caches.keys()] as readonly Kind[],
    /** Since the server was last heard of by the cache that has waited longest. */
    get ageMs(): number {
      return Math.max(...Array.from(caches.values(), ({ ageMs }) => ageMs));
    },
    /** Called when a cache finds that the server has gone back to an earlier state, before it shows that state. */
    onRestored: (listener: () => void) => void restoredListeners.push(listener),
    relist(reason: string): void {
      for (const cache of caches.values()) cache.relist(reason);
    },
    async close(): Promise<void> {
      for (const cache of caches.values()) await cache.close();
    },
  };
}

function projectLive(kind: Kind, object: KubeObject, fieldManager: string): LiveObject {
  const { name, namespace, uid = "", labels = {}, deletionTimestamp, managedFields = [] } = object.metadata;
  return {
    ...{ kind, name, namespace, uid, labels },
    isOurs: managedFields.some(({ manager }) => manager === fieldManager || manager === goProvider),
    isFromBefore: goProviderEntry(object.metadata) !== undefined,
    replicas: numberIn(fieldsOf(object["spec"])["replicas"]),
    owned: ownedFields(object, fieldManager),
    deletingSinceMs: deletionTimestamp === undefined ? undefined : parseTime(deletionTimestamp),
    ...failureOf(object),
    ...(kind === kinds.statefulSet && awaitsOldPod(object) && { awaitsOldPod: true }),
    ...(workloadKinds.includes(kind) && workloadOf(kind, object)),
    ...(kind === kinds.service && serviceOf(object)),
  };
}

function workloadOf(kind: Kind, object: KubeObject): Pick<LiveObject, "counts" | "runsAs" | "isRolling"> {
  const counts = countsOf(kind, object);
  const { observedGeneration, updated, replicas } = counts;
  const isRolling = observedGeneration !== numberOf(object.metadata.generation) || updated < replicas;
  const account = textOf(fieldsOf(fieldsOf(fieldsOf(object["spec"])["template"])["spec"])["serviceAccountName"]);
  const isOwn = account !== undefined && account !== "" && account !== defaultAccount;
  return { counts, ...(isOwn && { runsAs: account }), ...(isRolling && { isRolling }) };
}

function countsOf(kind: Kind, object: KubeObject) {
  const status = fieldsOf(object["status"]);
  return {
    observedGeneration: numberOf(status["observedGeneration"]),
    replicas: numberOf(status["replicas"]),
    updated: numberOf(status["updatedReplicas"]),
    ready: numberOf(status["readyReplicas"]),
    // Of a stateful set those of its current revision, ready or not: so the network shows it.
    available: numberOf(status[kind === kinds.statefulSet ? "currentReplicas" : "availableReplicas"]),
  };
}

function serviceOf(object: KubeObject): Pick<LiveObject, "nodePorts" | "leased"> {
  const nodePorts = nodePortsOf(object);
  const leased = readLeasedService(object);
  return { ...(nodePorts.length > 0 && { nodePorts }), ...(leased && { leased }) };
}

function nodePortsOf(object: KubeObject) {
  const { type, ports } = fieldsOf(object["spec"]);
  // Services of type LoadBalancer may have node ports too; the tenant did not request those.
  return (type === "NodePort" ? recordsOf(ports) : []).map(({ port, targetPort, nodePort, protocol }) => ({
    targetPort: numberOf(targetPort) || numberOf(port),
    nodePort: numberOf(nodePort),
    protocol: textOf(protocol) ?? "TCP",
  }));
}

/** Of a stateful set: some of its pods are of an older template, and some are not ready. */
export function awaitsOldPod({ metadata, status }: KubeObject): boolean {
  const { observedGeneration, updateRevision, replicas, updatedReplicas, readyReplicas } = fieldsOf(status);
  if (updateRevision === undefined || observedGeneration !== fieldsOf(metadata)["generation"]) return false;
  const isLess = (count: unknown) => numberOf(count) < numberOf(replicas);
  return isLess(updatedReplicas) && isLess(readyReplicas);
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The API leaves out what is zero. */
function numberOf(value: unknown): number {
  return numberIn(value) ?? 0;
}

function failureOf(object: KubeObject): { failure?: string } {
  const failures = recordsOf(fieldsOf(object["status"])["conditions"]).filter(
    ({ type, status }) => type === "ReplicaFailure" && status === "True",
  );
  return failures[0] ? { failure: (textOf(failures[0]["message"]) ?? "").slice(0, healthNameChars) } : {};
}

const holding = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure"];

export function heldBy(namespace: KubeObject): string[] {
  return recordsOf(fieldsOf(namespace["status"])["conditions"])
    .filter(({ type, status }) => status === "True" && holding.includes(String(type)))
    .map(({ message }) => textOf(message) ?? "");
}

/** "services web", for a person. */
export function liveText({ kind, name }: Pick<LiveObject, "kind" | "name">): string {
  return `${resourceOf(kind)} ${name}`;
}
