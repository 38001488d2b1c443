/**
 * How the IP operator is reached: at the address in the settings; from within the cluster at its Service; from outside
 * through the API server.
 */
import { isIPv6 } from "node:net";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { type ServiceAddress, serviceAddress } from "../../kube/service-address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { bodyOf, inTime } from "../../runtime/fetch-text.ts";
import { limits } from "../../runtime/limits.ts";
import type { Get } from "./ip-operator.ts";

interface IpOperatorLocation {
  /** From the settings; without it, the operator is looked for in the cluster. */
  readonly endpoint: ServiceAddress | undefined;
  /** Whether we run in a pod: only from there the names of Services lead anywhere. */
  readonly inCluster: boolean;
  readonly kube: Promise<Kube>;
}

const service = { namespace: "akash-services", name: "operator-ip" };
const portName = "rest";

export function createGet({ endpoint, inCluster, kube }: IpOperatorLocation, clock: Clock): Get {
  const get: Get = async (path, signal) => {
    if (endpoint) return fetchFrom(endpoint, path, signal);
    const cluster = await kube;
    if (inCluster) return fetchFrom(await addressIn(cluster, signal), path, signal);
    const target = { kind: "service", ...service, port: portName } as const;
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: limits.addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  const limitMs = limits.addressesAnswerMs;
  return (path, signal) => inTime({ limitMs, clock, signal }, (until) => get(path, until));
}

/** Looked up for every question: the Service may be made again, with another port. */
async function addressIn(kube: Kube, signal: AbortSignal): Promise<ServiceAddress> {
  const { namespace, name } = service;
  const found = await kube.get(kinds.service, service, { signal });
  const address = found && serviceAddress(found, portName);
  if (address) return address;
  const reason = found
    ? `the Service ${name} in ${namespace} has no port named ${portName}`
    : `there is no Service ${name} in ${namespace}`;
  throw new ProviderError("AKP_OPERATOR_NOT_FOUND", {
    operator: "IP operator",
    reason,
    setting: "--ip-operator-endpoint",
  });
}

async function fetchFrom({ host, port }: ServiceAddress, path: string, signal: AbortSignal) {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}${path}`;
  // It says where it is itself; nobody sends us elsewhere.
  const answer = await fetch(url, { redirect: "manual", signal });
  return { status: answer.status, body: await bodyOf(answer, limits.addressesAnswerBytes) };
}
