/** What manifests are checked against and rebuilt from: who has which host name, and what the cluster keeps of a lease. */
import { kinds } from "../../kube/kinds.ts";
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { checkKnown } from "../watch-trouble.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";

export function createClusterSide(keeper: LeaseKeeper) {
  return {
    hostRefusal(hosts: readonly string[], owner: Address): string | undefined {
      if (hosts.length > 0) checkKnown(keeper.hostnames.trouble);
      return keeper.hostnames.refusal(hosts, owner);
    },
    checkHostsKnown: (): void => checkKnown(keeper.hostnames.trouble),
    allowHosts: (hosts: readonly string[], owner: Address): void => keeper.hostnames.allow(hosts, owner),
    async recorded(lease: LeaseId) {
      checkKnown(keeper.live.troubleOf(kinds.manifest));
      const resource = keeper.live.manifest(leaseNamespace(lease));
      return resource && readManifestResource(resource);
    },
    hasNamespace(lease: LeaseId): boolean {
      checkKnown(keeper.live.troubleOf(kinds.namespace));
      return keeper.live.namespace(leaseNamespace(lease)) !== undefined;
    },
    wake: (leaseKey: string) => keeper.wake(leaseKey, "high"),
  };
}
