/** Moves host names and endpoints between leases of an owner. It is settled at once; the new lease's loop ends what fails. */
import { mirrorUnavailable } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import { kinds } from "../../kube/kinds.ts";
import type { LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import type { PermitService } from "../../kube/tenant-access.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createKeyedMutex } from "../../runtime/semaphore.ts";
import { checkKnown } from "../cache-error.ts";
import { addressesWanted } from "../capacity/addresses/lease-addresses.ts";
import { hostsWanted } from "./declarations/hostnames.ts";
import { isBehindCluster, observeLease, wantedOf } from "./observed-lease.ts";
import type { LeaseDeps } from "./watched-cluster.ts";

/** Requests of one owner that wait for each other, so that what one moves back and forth keeps no other waiting. */
export const migrationsWaiting = 8;
/** A thousand writes of 10 ms each; an API server that takes longer is away, and goes on with it when it is back. */
export const migrationMs = 15 * second;

export function createLeaseMoves(deps: LeaseDeps) {
  const { chain, hostnames, addresses, options, live, clock, log } = deps;
  const inTurn = createKeyedMutex(migrationsWaiting, (waiting) => new ProviderError("AKP_MIGRATION_BUSY", { waiting }));

  function workloadOf(to: LeaseId, { error }: { readonly error: string | undefined }): LeaseWorkload {
    checkKnown(mirrorUnavailable(chain.mirror) ?? live.errorOf(kinds.manifest) ?? error);
    const observed = observeLease(formatLeaseId(to), deps);
    if (!runs(observed.lease)) throw new ProviderError("AKP_DESTINATION_UNKNOWN", {});
    checkKnown(isBehindCluster(observed, chain) ? "its manifest is not in the journal yet" : undefined);
    // A lease without a manifest has no service that a name could lead to.
    const wanted = observed.row && wantedOf(observed, chain);
    if (!wanted) throw new ProviderError("AKP_DESTINATION_UNKNOWN", {});
    return wanted.workload;
  }

  /** The client is answered in time. The move goes on, and where it fails the loop of the new lease ends it. */
  function inTime(moving: Promise<void>): Promise<void> {
    return withDeadline(clock, migrationMs, moving, () => {
      const reason = `it has not answered for ${migrationMs / 1_000} s`;
      throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason });
    });
  }

  return {
    moveHosts: (hosts: readonly string[], to: LeaseId, permit: PermitService, signal: AbortSignal) =>
      inTurn(to.owner, async () => {
        signal.throwIfAborted();
        // Names that we give are not moved, and not among those that a manifest names.
        const wanted = hostsWanted(workloadOf(to, hostnames), { staticHostDomain: undefined });
        const requested = new Set(hosts);
        for (const { host, service } of wanted) if (requested.has(host)) permit(service);
        await inTime(hostnames.transfer([...requested], to, wanted, signal));
        log.info("moved host names", { lease: formatLeaseId(to), hosts: requested.size });
      }),
    moveEndpoints: (endpoints: readonly string[], to: LeaseId, permit: PermitService, signal: AbortSignal) =>
      inTurn(to.owner, async () => {
        signal.throwIfAborted();
        const wanted = addressesWanted(workloadOf(to, addresses), options.addressSharing);
        const requested = new Set(endpoints);
        for (const { endpoint, service } of wanted) if (requested.has(endpoint)) permit(service);
        await inTime(addresses.transfer([...requested], to, wanted, signal));
        log.info("moved endpoints", { lease: formatLeaseId(to), endpoints: requested.size });
      }),
  };
}
