/** Which ports of a workload are to be reached on an address of its own. */
import type { LeaseWorkload } from "../../../kube/objects/lease-workload.ts";
import { type IpDeclaration, type LeasedService, leasedIpName, sharingKey } from "../../../kube/objects/leased-ip.ts";

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

/** A Service that the IP operator made. */
interface SeenService {
  readonly leased?: LeasedService;
  readonly deletingSinceMs: number | undefined;
}

/** The address that a Service has for its lease, if any. */
export function leasedAddress({ leased, deletingSinceMs }: SeenService): string[] {
  return leased?.address !== undefined && deletingSinceMs === undefined ? [leased.address] : [];
}

/**
 * By endpoint; those that have none yet are not there. By what a Service is for, not by its name: two endpoints may want the
 * same port of a service, and one that is renamed finds the old one's Service for a while.
 */
export function addressesSeen(
  live: { services(namespace: string): Iterable<SeenService> },
  namespace: string,
  wanted: readonly AddressWanted[],
): Map<string, string> {
  const given = new Map<string, string>();
  for (const service of live.services(namespace)) {
    const [address] = leasedAddress(service);
    if (service.leased && address !== undefined) given.set(whatFor(service.leased), address);
  }
  const seen = new Map<string, string>();
  for (const each of wanted) {
    const address = given.get(whatFor(each));
    if (address !== undefined && !seen.has(each.endpoint)) seen.set(each.endpoint, address);
  }
  return seen;
}

function whatFor({
  sharingKey,
  protocol,
  externalPort,
}: Pick<LeasedService, "sharingKey" | "protocol" | "externalPort">): string {
  return `${sharingKey} ${protocol} ${externalPort}`;
}
