/** Which ports of a workload get a leased IP address. */
import type { LeaseWorkload } from "../../../kube/objects/lease-workload.ts";
import { type IpDeclaration, type LeasedService, leasedIpName, sharingKey } from "../../../kube/objects/leased-ip.ts";

export interface AddressWanted extends Omit<IpDeclaration, "lease"> {
  /** The tenant's name of the address. */
  readonly endpoint: string;
}

/** Which ports share an address: those of one endpoint, or all of an owner, as in the first version of the Go provider. */
export type AddressSharing = "endpoint" | "owner";

/** Each port of an address once; of one that several services want, the first: two would overwrite each other for ever. */
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
 * By endpoint; those without an address are missing. Matched by the purpose of a Service, not by its name: two endpoints may
 * want the same port of a service, and a renamed one has the old Service for a while.
 */
export function addressesSeen(
  live: { services(namespace: string): Iterable<SeenService> },
  namespace: string,
  wanted: readonly AddressWanted[],
): Map<string, string> {
  type Purpose = Pick<LeasedService, "sharingKey" | "protocol" | "externalPort">;
  const purposeOf = ({ sharingKey, protocol, externalPort }: Purpose) => `${sharingKey} ${protocol} ${externalPort}`;
  const services = [...live.services(namespace)];
  const given = new Map(
    services.flatMap((service) =>
      leasedAddress(service).map((address) => [service.leased && purposeOf(service.leased), address]),
    ),
  );
  const seen = new Map<string, string>();
  for (const each of wanted) {
    const address = given.get(purposeOf(each));
    if (address !== undefined && !seen.has(each.endpoint)) seen.set(each.endpoint, address);
  }
  return seen;
}
