/** Manifests as those see them who bring them in or run them: the gateway, the lease loop, the demo. */
import type { DeploymentId, LeaseId } from "../market/ids.ts";
import type { ManifestGroup } from "../market/manifest.ts";

export interface Manifests {
  /**
   * Takes what the owner of a deployment sends, for all of our leases of it; the caller has made sure that it is the owner.
   * Resolves when it is safe in the journal. Throws why it is refused, and then nothing has changed.
   */
  submit(deployment: DeploymentId, body: string | Uint8Array, signal?: AbortSignal): Promise<Submitted>;
  /** The owner takes it back: workloads go, the lease and its volumes stay. Resolves when that is in the journal. */
  withdraw(deployment: DeploymentId, signal?: AbortSignal): Promise<Submitted>;
  /** The last one that was taken for a lease. */
  manifestOf(lease: LeaseId): LeaseManifest | undefined;
  /** How many have a lease of ours. */
  readonly deployments: number;
}

export interface Submitted {
  /** The keys of our leases of the deployment. */
  readonly leases: readonly string[];
  /** Of these, the ones for which this changed something. */
  readonly changed: readonly string[];
}

export interface LeaseManifest {
  readonly version: string;
  readonly group: ManifestGroup;
  readonly receivedAtMs: number;
  readonly withdrawnAtMs?: number;
  /** Why the cluster would not have it. */
  readonly refusal?: string;
}
