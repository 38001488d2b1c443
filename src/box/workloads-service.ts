/** Ready and desired pods of the demo's leases, as `kubectl` shows them. */
import { fieldsOf } from "../kube/json-fields.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../kube/kube.ts";
import { managedSelector } from "../kube/objects/lease-labels.ts";
import { readProviderHost } from "../kube/objects/provider-host.ts";
import { leaseNamespace } from "../market/lease-namespace.ts";
import type { ResourceService } from "../runtime/lifecycle.ts";

/** Of one lease. */
export interface Workload {
  readonly ready: number;
  readonly desired: number;
  readonly hosts: readonly string[];
}

export interface Workloads {
  /** By the namespace of its lease; undefined where there is none. */
  of(namespace: string): Workload | undefined;
  /** Namespaces of tenants. */
  readonly namespaces: number;
}

interface Counted {
  readonly namespace: string;
  readonly ready: number;
  readonly desired: number;
}

interface Host {
  readonly namespace: string;
  readonly host: string;
}

export function createWorkloadsService(deps: { readonly kube: Promise<Kube> }): ResourceService<Workloads, Workloads> {
  const { promise: opened, resolve } = Promise.withResolvers<Workloads>();
  let workloads: Workloads | undefined;
  return {
    name: "workloads",
    async start(scope) {
      const kube = await deps.kube;
      const sets = [kinds.deployment, kinds.statefulSet].map((kind) =>
        kube.watch({ kind, labelSelector: managedSelector, project: countOf }),
      );
      const hosts = kube.watch({ kind: kinds.providerHost, project: hostOf });
      const namespaces = kube.watch({ kind: kinds.namespace, labelSelector: managedSelector, project: () => true });
      const all: readonly WatchCache<unknown>[] = [...sets, hosts, namespaces];
      scope.onStop(async () => {
        for (const cache of all) await cache.close();
      });
      await Promise.all(all.map((cache) => cache.synced(scope.signal)));
      workloads = {
        of: (namespace) => (namespaces.get({ name: namespace }) ? sumOf(namespace, sets, hosts) : undefined),
        get namespaces() {
          return namespaces.size;
        },
      };
      resolve(workloads);
    },
    opened,
    status: () => workloads,
    detail: () => (workloads ? `${workloads.namespaces} namespaces of tenants` : ""),
  };
}

function sumOf(namespace: string, sets: readonly WatchCache<Counted>[], hosts: WatchCache<Host>): Workload {
  let [ready, desired] = [0, 0];
  for (const set of sets.flatMap((cache) => [...cache.list()])) {
    if (set.namespace !== namespace) continue;
    ready += set.ready;
    desired += set.desired;
  }
  const own = [...hosts.list()].filter((each) => each.namespace === namespace);
  return { ready, desired, hosts: own.map(({ host }) => host) };
}

/** Counts ready pods of the current generation only. */
function countOf({ metadata, spec, status }: KubeObject): Counted {
  const { readyReplicas = 0, updatedReplicas = 0, observedGeneration = 0 } = fieldsOf(status) as Record<string, number>;
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const desired = Number(fieldsOf(spec)["replicas"] ?? 0);
  return { namespace: metadata.namespace ?? "", ready: isSeen ? Math.min(readyReplicas, updatedReplicas) : 0, desired };
}

function hostOf(object: KubeObject): Host {
  const declared = readProviderHost(object);
  return { namespace: declared ? leaseNamespace(declared.lease) : "", host: declared?.host ?? "" };
}
