/** REST in the Go operator's fields, and our akash.operator.ip.v1 over gRPC. */
import { findAddress } from "../../market/address.ts";
import { formatLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { formatGoTime } from "../../runtime/clock.ts";
import {
  operatorIpV1ServiceFile,
  operatorIpV1State,
  operatorIpV1Status,
  operatorIpV1Usage,
} from "../../runtime/grpc/akash-proto.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import type { Listener } from "../../runtime/listener.ts";
import { type GrpcListener, type OperatorGrpcOptions, startOperatorGrpc, unary } from "../serving/grpc.ts";
import { leaseFields, type OperatorRestOptions, type PathAnswer, startOperatorRest } from "../serving/rest.ts";
import type { AddressPort, Balancer } from "./objects.ts";
import type { RunningIpOperator } from "./operator.ts";
import type { PoolCounts } from "./supply.ts";

type GrpcOptions = Pick<OperatorGrpcOptions, "host" | "port" | "clock" | "log">;

export function startIpGrpc(operator: RunningIpOperator, options: GrpcOptions): Promise<GrpcListener> {
  return startOperatorGrpc({
    ...options,
    what: "the IP operator over gRPC",
    methods: ipMethods(operator),
    file: operatorIpV1ServiceFile,
    serving: () => operator.waitingFor === undefined,
    changed: operator.changed,
  });
}

function ipMethods(operator: RunningIpOperator): [path: string, method: GrpcMethod][] {
  const streamState: GrpcMethod = {
    kind: "stream",
    async *answers(_, { signal }) {
      for (let sent: Uint8Array | undefined; ; ) {
        // Encoded again before it waits, as a change may have come while the last message was sent.
        const message = stateMessage(operator);
        if (sent && Buffer.compare(sent, message) === 0) await operator.changed(signal);
        else yield message;
        sent = message;
      }
    },
  };
  const service = "/akash.operator.ip.v1.IpRPC";
  return [
    [`${service}/GetStatus`, unary(() => statusMessage(operator))],
    [`${service}/GetState`, unary(() => stateMessage(operator))],
    [`${service}/GetUsage`, unary(() => operatorIpV1Usage.encode(usageOf(operator)))],
    [`${service}/StreamState`, streamState],
  ];
}

/** A pool of IPv6 may have more addresses than fit into the message's 64 bits. */
const mostAddresses = 2n ** 64n - 1n;

function usageOf({ usage }: RunningIpOperator) {
  const bounded = (count: bigint) => (count < mostAddresses ? count : mostAddresses);
  const countsOf = ({ total, inUse }: PoolCounts) => ({
    ...{ total: bounded(total), inUse: bounded(inUse), free: bounded(total - inUse) },
  });
  return { ...countsOf(usage), pools: usage.pools.map((pool) => ({ name: pool.name, ...countsOf(pool) })) };
}

function stateMessage(operator: RunningIpOperator): Uint8Array {
  const ports = leasedPorts(operator).map(
    ({ port: { resource: _, changedAtMs: __, lease, ...port }, address = "" }) => {
      return { ...port, lease: formatLeaseId(lease), address };
    },
  );
  return operatorIpV1State.encode({ ports, conditions: [...operator.conditions] });
}

function statusMessage(operator: RunningIpOperator): Uint8Array {
  const { leading, waitingFor = "" } = operator;
  const { ports, pending } = portCounts(operator);
  return operatorIpV1Status.encode({
    ...{ leading, waitingFor },
    usage: usageOf(operator),
    ports: BigInt(ports),
    pendingPorts: BigInt(pending),
    ignoredLeases: BigInt(operator.ignored.size),
    conditions: [...operator.conditions],
  });
}

type RestOptions = Pick<OperatorRestOptions, "host" | "port" | "version" | "metrics" | "refreshMs" | "clock" | "log">;

export function startIpRest(operator: RunningIpOperator, provider: string, options: RestOptions): Promise<Listener> {
  return startOperatorRest({
    ...options,
    what: "the IP operator over REST",
    routes: {
      "/usage": () => networkUsage(operator, provider),
      "/state": () => networkState(operator),
      "/ignored-leases": () => operator.ignored.view(),
      "/conditions": () => operator.conditions,
    },
    // A bid must not promise an address that is taken.
    fresh: ["/usage"],
    matchPath: (path) => leaseStatus(operator, provider, path),
    waitingFor: (path) => operator.waitingFor ?? (path === "/usage" ? operator.view.unavailableReason : undefined),
  });
}

/** What the network calls available is the total; clients subtract what is in use. */
function networkUsage({ usage, shortage }: RunningIpOperator, provider: string): object {
  const countsOf = ({ total, inUse }: PoolCounts) => ({ Available: total, InUse: inUse, Free: total - inUse });
  const pools = Object.fromEntries(usage.pools.map((pool) => [pool.name, countsOf(pool)]));
  const why = shortage && { reason: shortage.type, message: shortage.error.message };
  return { ...countsOf(usage), Pools: pools, Provider: provider, ...(why && { Shortage: why }) };
}

/** All that is requested and not rejected, by lease and name; without an address while it has none. */
function leasedPorts({ view }: RunningIpOperator) {
  const keys = new Set([...view.declared.list()].flatMap(({ key, port }) => (port && key !== undefined ? [key] : [])));
  const found = [...keys].flatMap((key) =>
    view.portsOf(key).ports.map((port) => ({ port, address: view.addressOf(port) })),
  );
  const order = ({ port }: { readonly port: AddressPort }) => `${formatLeaseId(port.lease)} ${port.resource}`;
  return found.sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

export function portCounts(operator: RunningIpOperator) {
  const ports = leasedPorts(operator);
  return { ports: ports.length, pending: ports.filter(({ address }) => address === undefined).length };
}

/** In the network's fields, and with the protocol: one port may be had with both. */
function networkState(operator: RunningIpOperator): object | undefined {
  const found = leasedPorts(operator);
  if (found.length === 0) return undefined;
  const byLease = Map.groupBy(found, ({ port }) => formatLeaseId(port.lease));
  return Object.fromEntries(Array.from(byLease, ([lease, ports]) => [lease, ports.map(({ port }) => entryOf(port))]));
}

function entryOf({ lease, namespace, changedAtMs, service, port, externalPort, protocol, sharingKey }: AddressPort) {
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

/** The addresses of one lease, of the ports that have one. */
function leaseStatus({ view }: RunningIpOperator, provider: string, path: string): PathAnswer | undefined {
  const [, owner = "", ...numbers] = leasePath.exec(path) ?? [];
  if (numbers.length === 0) return undefined;
  const [dseq, gseq, oseq] = numbers.map((text) => (/^\d{1,40}$/.test(text) ? BigInt(text) : 2n ** 64n));
  const isLease = findAddress(owner) !== undefined && dseq !== undefined && dseq < 2n ** 64n;
  if (!isLease || gseq === undefined || oseq === undefined || gseq >= 2n ** 32n || oseq >= 2n ** 32n)
    return { status: 404 };
  // By its name as it was given: in capitals, an owner is unknown.
  const id = { owner, dseq, gseq: Number(gseq), oseq: Number(oseq), provider };
  const namespace = leaseNamespace(id as Parameters<typeof leaseNamespace>[0]);
  const balancers = [...view.balancers.by("lease", namespace)].sort((a, b) => (a.name < b.name ? -1 : 1));
  if (balancers.length === 0) return { status: 204 };
  return { status: 200, body: balancers.flatMap(addressesOf) };
}

function addressesOf({ addresses, ours }: Balancer): object[] {
  if (!ours) return [];
  const { port: Port, externalPort: ExternalPort, service: ServiceName, protocol: Protocol } = ours;
  return addresses.map((IP) => ({ Port, ExternalPort, ServiceName, IP, Protocol }));
}
