/** What tenants ask for: to take a manifest, or to take it back. It is in the journal before they are answered. */

import { manifestDeadline } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import { groupIn, manifestBody } from "../journal/manifests.ts";
import { type DeploymentId, formatDeploymentId, formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { readManifest } from "../market/manifest-json.ts";
import { ProviderError } from "../runtime/errors.ts";
import { manifestBytes } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { createKeyedMutex } from "../runtime/semaphore.ts";
import type { Accepted, Checks } from "./checks.ts";
import { isTimeout, type ManifestLoop } from "./manifest-loop.ts";
import type { ManifestStates } from "./manifest-status.ts";
import type { MissedTime } from "./missed-time.ts";

/** Requests about one deployment that wait for each other: a tool sends one, and again when it has waited too long. */
export const manifestWaiting = 8;

interface IntakeDeps {
  readonly journal: Journal;
  readonly checks: Checks;
  readonly loop: Pick<ManifestLoop, "reunite">;
  readonly missed: Pick<MissedTime, "away">;
  readonly states: ManifestStates;
  /** Called for each lease whose row has changed. */
  readonly onChange: (kind: "ManifestReceived" | "ManifestWithdrawn", leaseKey: string, version: string) => void;
  readonly log: Log;
}

export type Manifests = ReturnType<typeof createIntake>;

export function createIntake(deps: IntakeDeps) {
  const { journal, checks, loop, missed, states, onChange, log } = deps;
  const { read } = journal;
  const inTurn = createKeyedMutex(manifestWaiting, (waiting) => new ProviderError("AKP_MANIFEST_BUSY", { waiting }));

  /**
   * Takes a manifest for all of our leases of a deployment; the caller has authenticated the owner. Resolves when it is in the
   * journal, with the keys of these leases and of those that changed; throws why it is rejected.
   */
  async function submit(id: DeploymentId, body: string | Uint8Array, signal?: AbortSignal) {
    const deployment = formatDeploymentId(id);
    try {
      const manifest = readManifest(body, manifestBytes);
      return await inTurn(deployment, async () => {
        signal?.throwIfAborted();
        const accepted = await checks.accept(id, manifest, signal);
        await reunite([...accepted.groups.keys()].map(parseLeaseId));
        return take(deployment, accepted);
      });
    } catch (thrown) {
      const { code, entry } = ProviderError.from(thrown);
      const isRejection = code.startsWith("AKP_MANIFEST") || code === "AKP_DEPLOYMENT_UNKNOWN" || entry.http < 500;
      if (code === "AKP_CLUSTER_UNKNOWN") missed.away();
      states.counts[isRejection ? "refused" : "failed"] += 1;
      // Only the code: the message may quote what the tenant sent.
      log.info("manifest not accepted", { deployment, code });
      throw thrown;
    }
  }

  /** First what the cluster has, or a journal that was lost would not know what runs and what was taken back. */
  async function reunite(leases: readonly LeaseId[]): Promise<void> {
    await Promise.all(leases.map((id) => loop.reunite({ id }, formatLeaseId(id))));
  }

  async function take(deployment: string, { version, groups }: Accepted) {
    const changed = await journal.durable("manifest", ({ manifests, deadlines, intents, history }) => {
      const fresh = [...groups].filter(([leaseId]) => !isTaken(manifests.get(leaseId), version));
      for (const [leaseId, group] of fresh) {
        manifests.put({ leaseId, version, body: manifestBody(group) });
        deadlines.remove(manifestDeadline, leaseId);
        // It came just in time: the lease was about to be closed for the lack of it.
        for (const { id } of intents.about(leaseId).filter(isTimeout)) intents.cancel(id, { log: "the manifest came" });
        history.add({ kind: "manifest", subject: leaseId, line: `manifest received: version ${version}` });
      }
      return fresh.map(([leaseId]) => leaseId);
    });
    for (const leaseId of changed) {
      states.note(leaseId, "received");
      onChange("ManifestReceived", leaseId, version);
    }
    states.counts[changed.length > 0 ? "accepted" : "replayed"] += 1;
    log.info("manifest accepted", { deployment, version, leases: groups.size, changed: changed.length });
    return { leases: [...groups.keys()], changed };
  }

  /** The owner takes it back: workloads go, the lease and its volumes stay. Resolves when that is in the journal. */
  function withdraw(id: DeploymentId, signal?: AbortSignal) {
    const deployment = formatDeploymentId(id);
    return inTurn(deployment, async () => {
      const leases = await checks.leasesOf(id, signal);
      if (leases.length === 0) throw new ProviderError("AKP_NO_LEASE", {});
      await reunite(leases);
      const keys = leases.map(formatLeaseId);
      const changed = await journal.durable("manifest withdrawn", ({ manifests, deadlines, history }) => {
        const held = keys.filter((leaseId) => {
          const row = manifests.get(leaseId);
          return row && row.withdrawnAtMs === undefined;
        });
        for (const leaseId of held) {
          manifests.withdraw(leaseId);
          deadlines.remove(manifestDeadline, leaseId);
          history.add({ kind: "manifest", subject: leaseId, line: "manifest withdrawn by its owner" });
        }
        return held;
      });
      for (const leaseId of changed) {
        states.note(leaseId, "withdrawn");
        onChange("ManifestWithdrawn", leaseId, read.manifests.get(leaseId)?.version ?? "");
      }
      states.counts.withdrawn += 1;
      log.info("manifest withdrawn", { deployment, changed: changed.length });
      return { leases: keys, changed };
    });
  }

  return {
    submit,
    withdraw,
    manifestOf(lease: LeaseId) {
      const row = read.manifests.get(formatLeaseId(lease));
      return row && { ...row, group: groupIn(row.body) };
    },
    get deployments() {
      return states.deployments;
    },
  };
}

/** One that was withdrawn, or that the cluster rejected, is taken up again when it is sent again. */
function isTaken(row: ReturnType<Journal["read"]["manifests"]["get"]>, version: string): boolean {
  return row?.version === version && row.withdrawnAtMs === undefined && row.refusal === undefined;
}
