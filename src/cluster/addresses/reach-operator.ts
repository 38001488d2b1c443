/**
 * How the IP operator is reached: at the address in the settings; from within the cluster at its Service; from outside
 * through the API server.
 */
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { type ServiceAddress, serviceAddress } from "../../kube/service-address.ts";
import { type Clock, withDeadline } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
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
    if (endpoint) return fetchText(endpoint, path, signal);
    const cluster = await kube;
    if (inCluster) return fetchText(await addressIn(cluster, signal), path, signal);
    const target = { kind: "service", ...service, port: portName } as const;
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: limits.addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  return async (path, signal) => {
    const late = new AbortController();
    try {
      const answer = get(path, AbortSignal.any([signal, late.signal]));
      return await withDeadline(clock, limits.addressesAnswerMs, answer, () => {
        throw new Error(`no whole answer within ${limits.addressesAnswerMs} ms`);
      });
    } catch (thrown) {
      signal.throwIfAborted();
      // "fetch failed" is all that fetch says itself.
      throw thrown instanceof TypeError && thrown.cause ? new Error(reasonOf(thrown.cause), { cause: thrown }) : thrown;
    } finally {
      late.abort();
    }
  };
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

async function fetchText({ host, port }: ServiceAddress, path: string, signal: AbortSignal) {
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}${path}`;
  // It says where it is itself; nobody sends us elsewhere.
  const answer = await fetch(url, { redirect: "manual", signal });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.addressesAnswerBytes)
      throw new Error(`the answer is longer than ${limits.addressesAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: answer.status, body: Buffer.concat(chunks).toString() };
}
