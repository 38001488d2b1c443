/** Client of the IP operator, ours or the Go provider's: how many addresses its pool has, and which a lease got. */
import { z } from "zod";
import type { ServiceAddress } from "../../../kube/json-fields.ts";
import { formatOrderId, parseOrderId } from "../../../market/ids.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { inTime, readResponseBody } from "../../../runtime/fetch-text.ts";
import { httpUrl } from "../../../runtime/listener.ts";
import { parseJson } from "../../../runtime/parse-json.ts";
import { locateOperator, type OperatorLocation, operatorNamespace, serviceNamed } from "../operator-connection.ts";

/** A GET of a path, with a deadline. */
export type Get = (path: string, signal: AbortSignal) => Promise<{ readonly status: number; readonly body: string }>;

const count = z.int().nonnegative();
/** Pools of IPv6 have more addresses than a safe integer. */
const amount = z.number().refine((value) => Number.isInteger(value) && value >= 0);
/** `Available` is the size of the pool. Only our operator reports whose leases it serves, and why no address is free. */
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

export type IpOperatorClient = ReturnType<typeof createIpOperator>;
export type PoolUsage = Awaited<ReturnType<IpOperatorClient["usage"]>>;

export function createIpOperator(get: Get) {
  async function read<T>(path: string, shape: z.ZodType<T>, none: T | undefined, signal: AbortSignal): Promise<T> {
    const { status, body } = await get(path, signal);
    if (status === 204 && none !== undefined) return none;
    if (status !== 200) throw new Error(`${path} was answered with HTTP ${status}${shortened(body)}`);
    const { data, success } = shape.safeParse(parseJson(body));
    if (!success) throw new Error(`${path} was answered with nonsense${shortened(body)}`);
    return data;
  }

  return {
    async usage(signal: AbortSignal) {
      const { Available, InUse, Provider, Shortage } = await read("/usage", usageShape, undefined, signal);
      const optional: { provider?: string; shortage?: typeof Shortage } = {
        ...(Provider && { provider: Provider }),
        ...(Shortage && { shortage: Shortage }),
      };
      return { total: BigInt(Available), inUse: BigInt(InUse), ...optional };
    },
    /** The ports of the order's lease that have an address. */
    async portsOf(orderId: string, signal: AbortSignal) {
      const path = `/ip-lease-status/${formatOrderId(parseOrderId(orderId))}`;
      const ports = await read(path, leaseShape, [], signal);
      return ports.map(({ IP, Port, ExternalPort, ServiceName, Protocol }) => {
        return { service: ServiceName, port: Port, externalPort: ExternalPort, protocol: Protocol, address: IP };
      });
    },
  };
}

/** The beginning of an unexpected answer. */
function shortened(body: string): string {
  const text = body.trim().slice(0, 200);
  return text === "" ? "" : `: ${text}`;
}

/** It has answers prepared, or lists a few Services. */
export const addressesAnswerMs = 5 * second;
/** A lease with hundreds of ports. */
export const addressesAnswerBytes = 1024 * 1024;

const name = "operator-ip";
const portName = "rest";
const sought = { operator: "IP operator", setting: "--ip-operator-endpoint", portName, ...serviceNamed(name) } as const;

/** To the endpoint in the settings, inside the cluster to its Service, from outside through the API server. */
export function createGet(location: OperatorLocation, clock: Clock): Get {
  const get: Get = async (path, signal) => {
    if (location.endpoint || location.inCluster)
      return fetchFrom(await locateOperator(sought, location, signal), path, signal);
    const target = { kind: "service", namespace: operatorNamespace, name, port: portName } as const;
    const cluster = await location.kube;
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  return (path, signal) => inTime({ limitMs: addressesAnswerMs, clock, signal }, (until) => get(path, until));
}

async function fetchFrom(address: ServiceAddress, path: string, signal: AbortSignal) {
  // The endpoint is configured; a redirect is an error.
  const answer = await fetch(`${httpUrl(address)}${path}`, { redirect: "manual", signal });
  return { status: answer.status, body: await readResponseBody(answer, addressesAnswerBytes) };
}
