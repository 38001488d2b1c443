/** Which ports of a workload are to be reached on an address of its own. */

import type { LeaseWorkload } from "../../../kube/objects/lease-workload.ts";
import { type IpDeclaration, leasedIpName, sharingKey } from "../../../kube/objects/leased-ip.ts";

export interface AddressWanted extends Omit<IpDeclaration, "lease"> {
  /** What the tenant calls the address. */
  readonly endpoint: string;
}

/** Which ports are on one address: those of one endpoint, or all of an owner, as the network's first documents have it. */
export type AddressSharing = "endpoint" | "owner";

/** Each port of an address once; of one that several services want, the first: they would take it from each other without end. */
export function addressesWanted(
  { lease: { owner }, group }: Pick<LeaseWorkload, "lease" | "group">,
  sharing: AddressSharing = "endpoint",
): AddressWanted[] {
  const wanted = new Map<string, AddressWanted>();
  for (const { name: service, expose } of group.services) {
    for (const { global, ip: endpoint, port, externalPort: external, proto: protocol } of expose) {
      if (!global || endpoint === "") continue;
      const key = sharing === "owner" ? owner : sharingKey(owner, endpoint);
      const each = { endpoint, service, port, externalPort: external || port, protocol, sharingKey: key };
      const name = leasedIpName(each);
      if (!wanted.has(name)) wanted.set(name, each);
    }
  }
  return [...wanted.values()];
}
