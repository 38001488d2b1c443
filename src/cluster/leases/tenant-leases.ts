/** What runs for a lease, as its tenant may see it: read from caches at one moment. */

import { type Chain, mirrorUnavailable } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { serviceLabel } from "../../kube/objects/lease-labels.ts";
import { sharingKey } from "../../kube/objects/leased-ip.ts";
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import { workloadKind } from "../../kube/objects/workload-object.ts";
import type { TenantLease, TenantLeases } from "../../kube/tenant-access.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { Clock } from "../../runtime/clock.ts";
import { checkKnown } from "../cache-error.ts";
import { type HealthProblem, type HealthView, healthStartingMs, type LeaseHealth } from "../health/lease-health.ts";
import type { HostHealth } from "./declarations/hostname-feed.ts";
import { hostsWanted, type StaticHosts } from "./declarations/hostnames.ts";
import type { LeaseKeeper } from "./lease-loop.ts";
import type { LeaseStatus } from "./lease-states.ts";

interface TenantLeasesDeps {
  readonly chain: Pick<Chain, "mirror">;
  readonly leases: Pick<LeaseKeeper, "live" | "hostnames" | "states" | "moves">;
  readonly health: HealthView;
  readonly leasesAddresses: boolean;
  readonly staticHosts: StaticHosts;
  /** The health of a name; undefined where it is unknown. */
  readonly hostHealth: (host: string) => HostHealth | undefined;
  /** By which ports of the nodes are reached. */
  readonly publicHost: string;
  readonly clock: Clock;
}

export function createTenantLeases(deps: TenantLeasesDeps): TenantLeases {
  const { chain, leases, health, leasesAddresses, staticHosts, hostHealth, publicHost, clock } = deps;
  const { live, hostnames, states } = leases;
  /** An object of a cache is never changed, and goes when another takes its place. */
  const known = new WeakMap<KubeObject, ReturnType<typeof readWants>>();

  function wantsIn(resource: KubeObject, lease: LeaseId) {
    const wants = known.get(resource) ?? readWants(resource, lease, staticHosts);
    known.set(resource, wants);
    return wants;
  }

  /** Why nothing can be said of any lease now. */
  function error(): string | undefined {
    return mirrorUnavailable(chain.mirror) ?? live.errorOf(kinds.namespace, kinds.manifest);
  }

  function find(id: LeaseId): TenantLease {
    checkKnown(error());
    const lease = chain.mirror.lease(id);
    // The mirror's own id knows the name of its namespace already.
    const name = leaseNamespace(lease?.id ?? id);
    const nothing = live.namespace(name) ? "bare" : "unknown";
    if (!lease || !runs(lease)) return { state: nothing };
    const key = formatLeaseId(id);
    const state = states.get(key);
    const resource = live.manifest(name);
    if (!resource) return { state: nothing, why: rejectionIn(state) };
    const wants = wantsIn(resource, lease.id);
    checkKnown(live.errorOf(...wants.kinds) ?? (wants.hosts.length > 0 ? hostnames.error : undefined));
    const workloads = workloadsIn(live, name);
    if (workloads.length === 0) return { state: "idle", why: rejectionIn(state) };
    const had = new Set(hostnames.hostsOf(key));
    const hosts = wants.hosts.filter(({ host }) => had.has(host));
    return {
      state: "running",
      services: workloads.map(({ service, counts }) => ({
        name: service,
        hosts: hosts.filter((each) => each.service === service).map(({ host }) => host),
        observedGeneration: counts.observedGeneration,
        replicas: counts.replicas,
        updatedReplicas: counts.updated,
        readyReplicas: counts.ready,
        availableReplicas: counts.available,
      })),
      forwardedPorts: wants.hasForwardedPorts ? forwardedPorts(live, name, publicHost) : undefined,
      hostHealth: hosts.flatMap(({ host, service }) => {
        const known = hostHealth(host);
        // Until the operator has applied a move, it reports the previous lease of the host name.
        return known?.lease === key ? [{ host, service, health: known.health, why: known.why }] : [];
      }),
      addresses:
        leasesAddresses && wants.addressKeys.size > 0 ? leasedAddresses(live, name, wants.addressKeys) : undefined,
      errors: [...errorsOf(state), ...healthErrors(health.get(key), clock.now())],
    };
  }

  function leasesOf(owner: string, dseq: bigint): LeaseId[] {
    const all = [...chain.mirror.leases()];
    return all.filter((lease) => lease.id.dseq === dseq && lease.id.owner === owner && runs(lease)).map(({ id }) => id);
  }

  return {
    find,
    runs(id: LeaseId): boolean {
      checkKnown(error());
      return runs(chain.mirror.lease(id));
    },
    leasesOf,
    leaseOf(owner: string, dseq: bigint, gseq: number): LeaseId | undefined {
      checkKnown(error());
      return leasesOf(owner, dseq).find((id) => id.gseq === gseq);
    },
    ...leases.moves,
  };
}

type Live = TenantLeasesDeps["leases"]["live"];

/** In the order of their services. One of the other kind that is being deleted is left out. */
function workloadsIn(live: Live, namespace: string) {
  const found = [...live.workloads(namespace)].flatMap(({ labels, name, isOurs, deletingSinceMs, counts }) =>
    isOurs && deletingSinceMs === undefined && counts ? [{ service: labels[serviceLabel] ?? name, counts }] : [],
  );
  return found.sort((a, b) => (a.service < b.service ? -1 : 1));
}

function forwardedPorts(live: Live, namespace: string, host: string) {
  return [...live.services(namespace)].flatMap(({ labels, name, nodePorts = [] }) => {
    const service = labels[serviceLabel] ?? name.replace(/-np$/, "");
    return nodePorts.map(({ targetPort: port, nodePort: externalPort, protocol }) => {
      return { service, host, port, externalPort, protocol };
    });
  });
}

/** From the Services themselves: the address of one that is gone may be another tenant's by now. */
function leasedAddresses(live: Live, namespace: string, keys: ReadonlySet<string>) {
  const services = [...live.services(namespace)].sort((a, b) => (a.name < b.name ? -1 : 1));
  return services.flatMap(({ leased, deletingSinceMs }) => {
    if (leased?.address === undefined || deletingSinceMs !== undefined || !keys.has(leased.sharingKey)) return [];
    return [{ ...leased, address: leased.address }];
  });
}

/** What merely starts is no error yet. */
function healthErrors(health: LeaseHealth | undefined, nowMs: number) {
  const alarming = (health?.troubles ?? []).filter(
    ({ reason, sinceMs }) => reason !== "NotReady" || sinceMs <= nowMs - healthStartingMs,
  );
  return alarming.map((problem) => ({ service: problem.service, text: problemText(problem) }));
}

/** What a tenant's manifest requests, as far as its lease's status shows it. */
function readWants(resource: KubeObject, lease: LeaseId, staticHosts: StaticHosts) {
  const group = readManifestResource(resource)?.group ?? { name: "", services: [] };
  const expose = group.services.flatMap((service) => service.expose);
  const hosts = hostsWanted({ lease, group }, staticHosts).map(({ host, service }) => ({ host, service }));
  return {
    /** What its services run as. */
    kinds: [...new Set([...group.services.map(workloadKind), kinds.service])],
    hosts: hosts.sort((a, b) => (a.host < b.host ? -1 : 1)),
    // As in the Go provider: a port 80 without an external port counts too, and has none.
    hasForwardedPorts: expose.some(({ global, externalPort }) => global && externalPort !== 80),
    addressKeys: new Set(expose.flatMap(({ ip }) => (ip === "" ? [] : sharingKey(lease.owner, ip)))),
  };
}

function rejectionIn(state: LeaseStatus | undefined): string | undefined {
  return state?.state === "refused" ? `the manifest was refused: ${state.why}` : undefined;
}

function errorsOf(state: LeaseStatus | undefined) {
  const rejection = rejectionIn(state);
  const texts = [
    ...(rejection === undefined ? [] : [`${rejection}; what ran before goes on`]),
    ...(state?.withheld ?? []).map((each) => `withheld: ${each}`),
  ];
  return texts.map((text) => ({ service: undefined, text }));
}

function problemText({ service, replicas, reason, message }: HealthProblem): string {
  return `${replicas > 1 ? `${service} ×${replicas}` : service}: ${reason}: ${message}`;
}
