/** What chain, journal and cluster say of one lease at one moment, and what should run by that. */
import type { Chain } from "../../chain/chain.ts";
import { groupIn } from "../../journal/manifests.ts";
import type { LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import type { ManifestNote } from "../../kube/objects/manifest-resource.ts";
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import { deploymentOf, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestGroup } from "../../market/manifest.ts";
import { isNewerInCluster } from "../../market/manifest.ts";
import { invariant } from "../../runtime/invariant.ts";
import { promisedUnits } from "../capacity/reservations/reservation.ts";
import type { LeaseDeps } from "./watched-cluster.ts";

export type ObservedLease = ReturnType<typeof observeLease>;

export function observeLease(key: string, { chain, journal, live }: Pick<LeaseDeps, "chain" | "journal" | "live">) {
  const id = parseLeaseId(key);
  const name = leaseNamespace(id);
  const resource = live.manifest(name);
  return {
    ...{ key, id },
    /** Of its namespace, whether it is there or not. */
    name,
    /** As the mirror has it. */
    lease: chain.mirror.lease(id),
    row: journal.read.manifests.get(key),
    namespace: live.namespace(name),
    /** What the cluster itself has as the lease's manifest. */
    recorded: resource && readManifestResource(resource),
  };
}

/** What should run now, by what the tenant sent and what became of it. */
export interface WantedWorkload {
  readonly workload: LeaseWorkload;
  /** Of the manifest that this is; undefined where none of them can run, and only its isolation stands. */
  readonly note: ManifestNote | undefined;
  /** Not yet known to be acceptable: nothing of it is written before the server has said that it all would be. */
  readonly isNew: boolean;
}

/** Undefined where neither bid nor deployment says what was promised. */
export function wantedOf(
  { id, row, recorded }: ObservedLease,
  chain: Pick<Chain, "mirror">,
): WantedWorkload | undefined {
  invariant(row, "what runs is in a manifest", { lease: id });
  const offer = promisedUnits(chain.mirror, id);
  if (!offer) return undefined;
  const { version, receivedAtMs, withdrawnAtMs, refusal, deployed } = row;
  const workload = (group: ManifestGroup): LeaseWorkload => ({ lease: id, group, offer });
  const isolation = () => workload({ ...groupIn(row.body), services: [] });
  if (withdrawnAtMs !== undefined) {
    return { workload: isolation(), note: { version, receivedAtMs, withdrawnAtMs }, isNew: false };
  }
  if (refusal === undefined) {
    const isNew = deployed?.version !== version;
    return { workload: workload(groupIn(row.body)), note: { version, receivedAtMs }, isNew };
  }
  if (!deployed) return { workload: isolation(), note: undefined, isNew: false };
  // When that one came is known to the cluster alone.
  const cameAtMs = recorded?.version === deployed.version ? recorded.receivedAtMs : receivedAtMs;
  const note = { version: deployed.version, receivedAtMs: cameAtMs };
  return { workload: workload(groupIn(deployed.body)), note, isNew: false };
}

/** The journal is older than what runs: the manifest service updates it first, or an older manifest would be applied. */
export function isBehindCluster({ id, row, recorded }: ObservedLease, { mirror }: Pick<Chain, "mirror">): boolean {
  return isNewerInCluster(recorded, row, mirror.deployment(deploymentOf(id))?.hash);
}
