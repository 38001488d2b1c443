/** Which ports of a workload are to be reached on an address of its own. */

import type { LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import type { IpDeclaration } from "../../kube/objects/leased-ip.ts";
import { sharingKey } from "../../kube/objects/leased-ip.ts";

export interface AddressWanted extends Omit<IpDeclaration, "lease"> {
  /** What the tenant calls the address. */
  readonly endpoint: string;
}

/** Which ports are on one address: those of one endpoint, or all of an owner, as the network's first documents have it. */
export type AddressSharing = "endpoint" | "owner";

export function addressesWanted(
  { lease: { owner }, group }: Pick<LeaseWorkload, "lease" | "group">,
  sharing: AddressSharing = "endpoint",
): AddressWanted[] {
  return group.services.flatMap(({ name: service, expose }) =>
    expose
      .filter(({ global, ip }) => global && ip !== "")
      .map(({ ip: endpoint, port, externalPort, proto }) => ({
        endpoint,
        service,
        port,
        externalPort: externalPort || port,
        protocol: proto,
        sharingKey: sharing === "owner" ? owner : sharingKey(owner, endpoint),
      })),
  );
}
