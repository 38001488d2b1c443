/** Asks the IP operator, ours or the network's: how many addresses its pool has, and which a lease got. */
import { z } from "zod";
import type { ServiceAddress } from "../../../kube/json-fields.ts";
import { formatOrderId, parseOrderId } from "../../../market/ids.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { inTime, readResponseBody } from "../../../runtime/fetch-text.ts";
import { httpUrl } from "../../../runtime/listener.ts";
import { parseJson } from "../../../runtime/parse-json.ts";
import { locateOperator, type OperatorLocation, operatorNamespace, serviceNamed } from "../operator-connection.ts";

export interface PoolUsage {
  /** Of the pool. */
  readonly total: bigint;
  readonly inUse: bigint;
  /** Whose leases get addresses; the Go provider's IP operator does not say. */
  readonly provider?: string | undefined;
  /** Why none is free, where the operator says. */
  readonly shortage?: { readonly reason: string; readonly message: string } | undefined;
}

export interface IpOperatorClient {
  usage(signal: AbortSignal): Promise<PoolUsage>;
  /** The ports of the order's lease that have an address. */
  portsOf(orderId: string, signal: AbortSignal): Promise<readonly AddressedPort[]>;
}

interface AddressedPort {
  readonly service: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  readonly address: string;
}

/** A GET of a path, with an end. */
export type Get = (path: string, signal: AbortSignal) => Promise<{ readonly status: number; readonly body: string }>;

const count = z.int().nonnegative();
/** Pools of IPv6 have more addresses than can be counted exactly here; nobody misses one of them. */
const amount = z.number().refine((value) => Number.isInteger(value) && value >= 0);
/** What it calls available is all that the pool has. */
const usageShape = z.object({
  Available: amount,
  InUse: amount,
  Provider: z.string().optional(),
  Shortage: z.object({ reason: z.string(), message: z.string() }).optional(),
});
/** One entry per port; several may share an address. */
const leaseShape = z.array(
  z.object({
    IP: z.string().min(1),
    Port: count.default(0),
    ExternalPort: count.default(0),
    ServiceName: z.string().default(""),
    Protocol: z.string().default("TCP"),
  }),
);

const ok = 200;
const nothing = 204;

export function createIpOperator(get: Get): IpOperatorClient {
  async function read<T>(path: string, shape: z.ZodType<T>, none: T | undefined, signal: AbortSignal): Promise<T> {
    const { status, body } = await get(path, signal);
    if (status === nothing && none !== undefined) return none;
    if (status !== ok) throw new Error(`${path} was answered with HTTP ${status}${shortened(body)}`);
    const { data, success } = shape.safeParse(parseJson(body));
    if (!success) throw new Error(`${path} was answered with nonsense${shortened(body)}`);
    return data;
  }

  return {
    async usage(signal) {
      const { Available, InUse, Provider, Shortage } = await read("/usage", usageShape, undefined, signal);
      const told = { ...(Provider && { provider: Provider }), ...(Shortage && { shortage: Shortage }) };
      return { total: BigInt(Available), inUse: BigInt(InUse), ...told };
    },
    async portsOf(orderId, signal) {
      const path = `/ip-lease-status/${formatOrderId(parseOrderId(orderId))}`;
      const ports = await read(path, leaseShape, [], signal);
      return ports.map(({ IP, Port, ExternalPort, ServiceName, Protocol }) => {
        return { service: ServiceName, port: Port, externalPort: ExternalPort, protocol: Protocol, address: IP };
      });
    },
  };
}

/** Enough of what a server said to see what it is. */
function shortened(body: string): string {
  const text = body.trim().slice(0, 200);
  return text === "" ? "" : `: ${text}`;
}

/** One answer of it: it has them prepared, or asks the API server for a few Services. */
export const addressesAnswerMs = 5 * second;
/** The longest one: a lease with hundreds of ports. */
export const addressesAnswerBytes = 1024 * 1024;

const name = "operator-ip";
const portName = "rest";
const sought = {
  operator: "IP operator",
  setting: "--ip-operator-endpoint",
  portName,
  ...serviceNamed(name),
} as const;

/** At the address in the settings, within the cluster at its Service, from outside through the API server. */
export function createGet(location: OperatorLocation, clock: Clock): Get {
  const get: Get = async (path, signal) => {
    if (location.endpoint || location.inCluster)
      return fetchFrom(await locateOperator(sought, location, signal), path, signal);
    const target = { kind: "service", namespace: operatorNamespace, name, port: portName } as const;
    const cluster = await location.kube;
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  const limitMs = addressesAnswerMs;
  return (path, signal) => inTime({ limitMs, clock, signal }, (until) => get(path, until));
}

async function fetchFrom(address: ServiceAddress, path: string, signal: AbortSignal) {
  // It says where it is itself; nobody sends us elsewhere.
  const answer = await fetch(`${httpUrl(address)}${path}`, { redirect: "manual", signal });
  return { status: answer.status, body: await readResponseBody(answer, addressesAnswerBytes) };
}
