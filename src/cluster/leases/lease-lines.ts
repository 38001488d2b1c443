/** Every lease in one line, for an operator. */
import type { Chain } from "../../chain/chain.ts";
import { reclaimedAtMs } from "../../chain/closing.ts";
import { manifestDeadline } from "../../journal/deadlines.ts";
import { groupIn, type ManifestRow } from "../../journal/manifests.ts";
import type { TableReads } from "../../journal/tables.ts";
import { type LeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { leasedAddress } from "../capacity/addresses/lease-addresses.ts";
import type { HealthKeeper } from "../health/health-keeper.ts";
import type { HostHealth } from "./declarations/hostname-feed.ts";
import { hostsWanted } from "./declarations/hostnames.ts";
import type { LeaseKeeper } from "./lease-loop.ts";
import { type LeaseStatus, leaseNamesListed } from "./lease-states.ts";
import type { LeaseUsage } from "./lease-usage.ts";

export type LeaseLine = ReturnType<typeof leaseLines>[number] & Partial<LeaseUsage>;

export function leaseLines(
  { states, live, hostnames }: Pick<LeaseKeeper, "states" | "live" | "hostnames">,
  { get: healthOf, unhealthy: unhealthyOf }: Pick<HealthKeeper, "get" | "unhealthy">,
  chain: Pick<Chain, "mirror" | "status">,
  hostHealth: (host: string) => HostHealth | undefined = () => undefined,
) {
  const keys = [...states.all()].sort(([a], [b]) => (a < b ? -1 : 1));
  return keys.map(([lease, state]) => {
    const id = parseLeaseId(lease);
    const hosts = hostnames.error === undefined ? hostnames.hostsOf(lease).sort() : [];
    const [health, unwell] = [healthOf(lease), unhealthyOf(lease)];
    const hostTroubles = hosts.flatMap((host) => errorOf(hostHealth(host)));
    const namespace = leaseNamespace(id);
    const rolling = Array.from(live.workloads(namespace), ({ name, isRolling }) => (isRolling ? [name] : [])).flat();
    const addresses = new Set(Array.from(live.services(namespace), leasedAddress).flat());
    // What is absent is empty or unknown.
    const shown = {
      ...(addresses.size > 0 && { addresses: [...addresses].sort() }),
      ...(health && { health }),
      // How long it was seen unhealthy.
      ...(unwell && { unwell }),
      // Services some of whose pods are of an older template than the one that is being rolled out.
      ...(rolling.length > 0 && { rolling: rolling.sort() }),
      ...(hostTroubles.length > 0 && { hostTroubles: hostTroubles.slice(0, leaseNamesListed) }),
    };
    const about = { ...state, hosts, ageMs: ageOf(id, chain), ...endOf(id, chain), ...shown };
    return { lease, namespace, ...about };
  });
}

function errorOf(known: HostHealth | undefined): string[] {
  if (!known || known.health === "healthy" || known.health === "unknown") return [];
  return [`${known.host} is ${known.health}${known.why && `: ${known.why}`}`];
}

/** While it is being reclaimed: when the notice of its tenant has passed. */
function endOf(id: LeaseId, { mirror }: Pick<Chain, "mirror">): { readonly reclaimedAtMs?: number } {
  const { state, reclamation } = mirror.lease(id) ?? {};
  return state === "reclaiming" && reclamation ? { reclaimedAtMs: reclaimedAtMs(reclamation) } : {};
}

/** Since it was made on the chain; undefined where the mirror does not know it. */
function ageOf(id: LeaseId, { mirror, status }: Pick<Chain, "mirror" | "status">): number | undefined {
  const lease = mirror.lease(id);
  return lease && Number(mirror.height - lease.createdAt) * status.blockTimeMs;
}

// What the journal knows of leases by itself: which there were when it was last written to, and what they were to run.

export function readLeases({ manifests, deadlines }: Pick<TableReads, "manifests" | "deadlines">): LeaseLine[] {
  const sent = manifests.leaseIds();
  const unsent = deadlines.subjects(manifestDeadline).filter((lease) => !sent.includes(lease));
  return [...sent, ...unsent].sort().map((lease) => lineOf(lease, manifests.get(lease)));
}

function lineOf(lease: string, row: ManifestRow | undefined): LeaseLine {
  const id = parseLeaseId(lease);
  const deployed = row?.withdrawnAtMs === undefined ? row?.deployed : undefined;
  // The names that we gave are not in it: they follow from settings.
  const given = { staticHostDomain: undefined };
  const wanted = deployed ? hostsWanted({ lease: id, group: groupIn(deployed.body) }, given) : [];
  const hosts = wanted.map(({ host }) => host).sort();
  return { lease, namespace: leaseNamespace(id), ...stateOf(row), hosts, ageMs: undefined };
}

function stateOf(row: ManifestRow | undefined): LeaseStatus {
  if (!row) return { state: "waiting for manifest" };
  if (row.withdrawnAtMs !== undefined) return { state: "withdrawn" };
  if (row.refusal !== undefined) return { state: "refused", why: row.refusal };
  return { state: row.deployed?.version === row.version ? "deployed" : "deploying" };
}
