/** What the manifest service needs of the cluster. */
import type { RecordedManifest } from "../kube/objects/read-manifest-resource.ts";
import type { Address } from "../market/address.ts";
import type { LeaseId } from "../market/ids.ts";

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
