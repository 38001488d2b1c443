/** Where an operator beside the provider is: where the settings say, or at its Service in the cluster. */
import { kinds } from "../kube/kinds.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { type ServiceAddress, serviceAddress } from "../kube/service-address.ts";
import { ProviderError } from "../runtime/errors.ts";

export interface OperatorLocation {
  /** From the settings; without it, the operator is looked for in the cluster. */
  readonly endpoint: ServiceAddress | undefined;
  /** Whether we run in a pod: only from there the names of Services lead anywhere. */
  readonly inCluster: boolean;
  /** The DNS domain of the cluster. */
  readonly clusterDomain?: string | undefined;
  readonly kube: Promise<Kube>;
}

interface SoughtOperator extends SoughtService {
  /** "hostname operator", for messages. */
  readonly operator: string;
  /** Which says where it is. */
  readonly setting: string;
  readonly portName: "rest" | "grpc";
}

interface SoughtService {
  readonly find: (kube: Kube, signal: AbortSignal) => Promise<KubeObject | undefined>;
  /** What is said where there is none. */
  readonly absent: string;
}

/** Where charts put the operators. */
export const operatorNamespace = "akash-services";

export function serviceNamed(name: string): SoughtService {
  const at = { namespace: operatorNamespace, name };
  return {
    find: (kube, signal) => kube.get(kinds.service, at, { signal }),
    absent: `there is no Service ${name} in ${operatorNamespace}`,
  };
}

/** Looked up anew for every connection: the Service may be made again, with another port. */
export async function locateOperator(
  { operator, setting, portName, find, absent }: SoughtOperator,
  { endpoint, inCluster, clusterDomain = "cluster.local", kube }: OperatorLocation,
  signal: AbortSignal,
): Promise<ServiceAddress> {
  const notFound = (reason: string) => new ProviderError("AKP_OPERATOR_NOT_FOUND", { operator, reason, setting });
  if (endpoint) return endpoint;
  if (!inCluster) throw notFound(`outside of the cluster its Services have no names, so ${setting} is needed`);
  const service = await find(await kube, signal);
  if (!service) throw notFound(absent);
  const address = serviceAddress(service, portName, clusterDomain);
  if (address) return address;
  throw notFound(`the Service ${service.metadata.name} in ${operatorNamespace} has no port named ${portName}`);
}
