/** Which addresses a lease's endpoints have, as the Services say that the IP operator makes. */
import type { LeasedService } from "../../../kube/objects/leased-ip.ts";
import type { AddressWanted } from "./addresses-wanted.ts";

interface SeenService {
  readonly leased?: LeasedService;
  readonly deletingSinceMs: number | undefined;
}

interface SeenServices {
  services(namespace: string): Iterable<SeenService>;
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
  live: SeenServices,
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
