/** Manifests as those see them who bring them in or run them: the gateway, the lease loop, the demo. */

import type { RecordedManifest } from "../kube/objects/read-manifest-resource.ts";
import type { Address } from "../market/address.ts";
import type { DeploymentId, LeaseId } from "../market/ids.ts";
import type { ManifestGroup } from "../market/manifest.ts";

export interface Manifests {
  /**
   * Takes a manifest for all of our leases of a deployment; the caller has authenticated the owner. Resolves when it is in the
   * journal; throws why it is rejected.
   */
  submit(deployment: DeploymentId, body: string | Uint8Array, signal?: AbortSignal): Promise<Submitted>;
  /** The owner takes it back: workloads go, the lease and its volumes stay. Resolves when that is in the journal. */
  withdraw(deployment: DeploymentId, signal?: AbortSignal): Promise<Submitted>;
  manifestOf(lease: LeaseId): LeaseManifest | undefined;
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

// What the manifest service needs of the cluster.

export interface ClusterSide {
  /** Why this owner may not have one of these host names, in the network's words; undefined where he may have them all. */
  hostRefusal(hosts: readonly string[], owner: Address): string | undefined;
  /** Throws while it cannot be told who has which host name: then manifests that name one are not taken. */
  checkHostsKnown(): void;
  /** These are about to be his, and nobody else's meanwhile. */
  allowHosts(hosts: readonly string[], owner: Address): void;
  /** What the cluster itself says was sent for a lease; undefined where it provably has nothing. Throws while it can't tell. */
  recorded(lease: LeaseId): Promise<Omit<RecordedManifest, "lease"> | undefined>;
  /** Whether it has a namespace of the lease: then something was sent once, whatever else is lost. Throws while it can't tell. */
  hasNamespace(lease: LeaseId): boolean;
}

// What the manifest service needs of the operator's policies.

export interface OperatorRules {
  tenant(owner: Address): Ruling;
  image(image: string): Ruling;
  hostname(host: string): Ruling;
}

export interface Ruling {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only told, not done. */
  readonly dryRun: boolean;
}
