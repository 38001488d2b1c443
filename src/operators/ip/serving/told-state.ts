/** Which ports leases have on addresses of their own, as it is told: over REST in the network's words, over gRPC in ours. */
import { findAddress } from "../../../market/address.ts";
import { formatLeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { formatGoTime } from "../../../runtime/clock.ts";
import { leaseFields } from "../../serving/lease-fields.ts";
import type { AskedAnswer } from "../../serving/rest.ts";
import type { Balancer } from "../balancer.ts";
import type { LeasedPort } from "../leased-port.ts";
import type { IpOperator } from "../operator.ts";

type Told = Pick<IpOperator, "view">;

interface ToldPort {
  readonly port: LeasedPort;
  /** Undefined while it has none. */
  readonly address: string | undefined;
}

/** All that is asked for and not refused, by lease and name. */
export function toldPorts({ view }: Told): ToldPort[] {
  const keys = new Set([...view.declared.list()].flatMap(({ key, port }) => (port && key !== undefined ? [key] : [])));
  const told = [...keys].flatMap((key) => {
    const { ports } = view.portsOf(key);
    return ports.map((port) => ({ port, address: view.addressOf(port) }));
  });
  return told.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

function sortKey({ port }: ToldPort): string {
  return `${formatLeaseId(port.lease)} ${port.resource}`;
}

/** In the network's fields, and with the protocol: one port may be had with both. */
export function networkState(operator: Told): object | undefined {
  const told = toldPorts(operator);
  if (told.length === 0) return undefined;
  const byLease = Map.groupBy(told, ({ port }) => formatLeaseId(port.lease));
  return Object.fromEntries(Array.from(byLease, ([lease, ports]) => [lease, ports.map(({ port }) => entryOf(port))]));
}

function entryOf({ lease, namespace, changedAtMs, service, port, externalPort, protocol, sharingKey }: LeasedPort) {
  return {
    "last-event-time": formatGoTime(changedAtMs),
    "lease-id": leaseFields(lease),
    namespace,
    port,
    "external-port": externalPort,
    "service-name": service,
    "sharing-key": sharingKey,
    protocol,
  };
}

const leasePath = /^\/ip-lease-status\/([^/]+)\/([^/]+)\/([^/]+)\/([^/]+)$/;
const nothingThere = { status: 404 };

/** The addresses of one lease: of the ports that have one. One that has none yet says nothing of the others. */
export function leaseStatus({ view }: Told, provider: string, path: string): AskedAnswer | undefined {
  const [, owner = "", ...numbers] = leasePath.exec(path) ?? [];
  if (numbers.length === 0) return undefined;
  const [dseq, gseq, oseq] = numbers.map(readNumber);
  if (findAddress(owner) === undefined || dseq === undefined || gseq === undefined || oseq === undefined)
    return nothingThere;
  if (dseq >= 2n ** 64n || gseq >= 2n ** 32n || oseq >= 2n ** 32n) return nothingThere;
  // By its name as it was given: in capitals, an owner is a stranger.
  const id = { owner, dseq, gseq: Number(gseq), oseq: Number(oseq), provider };
  const namespace = leaseNamespace(id as Parameters<typeof leaseNamespace>[0]);
  const balancers = [...view.balancers.by("lease", namespace)].sort((a, b) => (a.name < b.name ? -1 : 1));
  if (balancers.length === 0) return { status: 204 };
  return { status: 200, body: balancers.flatMap(addressesOf) };
}

function readNumber(text: string): bigint | undefined {
  return /^\d{1,40}$/.test(text) ? BigInt(text) : undefined;
}

function addressesOf({ addresses, ours }: Balancer): object[] {
  if (!ours) return [];
  const { port: Port, externalPort: ExternalPort, service: ServiceName, protocol: Protocol } = ours;
  return addresses.map((IP) => ({ Port, ExternalPort, ServiceName, IP, Protocol }));
}
