/** Which ports of a workload are to be reached on an address of its own. */

import type { LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import type { IpDeclaration } from "../../kube/objects/leased-ip.ts";
import { sharingKey } from "../../kube/objects/leased-ip.ts";

export interface AddressWanted extends Omit<IpDeclaration, "lease"> {
  /** What the tenant calls the address. */
  readonly endpoint: string;
}

export function addressesWanted({ lease, group }: Pick<LeaseWorkload, "lease" | "group">): AddressWanted[] {
  return group.services.flatMap(({ name: service, expose }) =>
    expose
      .filter(({ global, ip }) => global && ip !== "")
      .map(({ ip: endpoint, port, externalPort, proto }) => ({
        endpoint,
        service,
        port,
        externalPort: externalPort || port,
        protocol: proto,
        sharingKey: sharingKey(lease.owner, endpoint),
      })),
  );
}
