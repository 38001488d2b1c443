/** What manifests are checked against and rebuilt from: who has which host name, and what the cluster keeps of a lease. */
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";

export function createClusterSide(keeper: LeaseKeeper) {
  /** What is not known now is no answer. */
  function checkKnown(): void {
    const reason = keeper.trouble;
    if (reason !== undefined) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason });
  }

  return {
    hostRefusal(hosts: readonly string[], owner: Address): string | undefined {
      checkKnown();
      return keeper.hostnames.refusal(hosts, owner);
    },
    async recorded(lease: LeaseId) {
      checkKnown();
      const resource = keeper.live.manifest(leaseNamespace(lease));
      return resource && readManifestResource(resource);
    },
    hasNamespace(lease: LeaseId): boolean {
      checkKnown();
      return keeper.live.namespace(leaseNamespace(lease)) !== undefined;
    },
    wake: (leaseKey: string) => keeper.wake(leaseKey, "high"),
  };
}
