/** Where the inventory operator is: where the settings say, or at its Service in the cluster. */
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { serviceAddress } from "../../kube/service-address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { GrpcAddress } from "../../runtime/grpc/grpc-client.ts";

interface OperatorLocation {
  /** From the settings; without it, the operator is looked for in the cluster. */
  readonly endpoint: GrpcAddress | undefined;
  /** Whether we run in a pod: only from there the names of Services lead anywhere. */
  readonly inCluster: boolean;
  readonly kube: Promise<Kube>;
}

const setting = "--inventory-operator-endpoint";
const namespace = "akash-services";
const labels = { name: "inventory", instance: "inventory-service", component: "operator", "part-of": "provider" };
const labelSelector = Object.entries(labels)
  .map(([key, value]) => `app.kubernetes.io/${key}=${value}`)
  .join(",");

/** Looked up anew for every connection: a Service that is made again may have another port. */
export async function locateInventory(
  { endpoint, inCluster, kube }: OperatorLocation,
  signal: AbortSignal,
): Promise<GrpcAddress> {
  if (endpoint) return endpoint;
  if (!inCluster) throw notFound(`outside of the cluster its Services have no names, so ${setting} is needed`);
  const services = await (await kube).list(kinds.service, { namespace, labelSelector, signal });
  const [service] = services;
  if (!service) throw notFound(`no Service in ${namespace} has the labels ${labelSelector}`);
  const address = serviceAddress(service, "grpc");
  if (!address) throw notFound(`the Service ${service.metadata.name} in ${namespace} has no port named grpc`);
  return address;
}

function notFound(reason: string) {
  return new ProviderError("AKP_OPERATOR_NOT_FOUND", {
    operator: "inventory operator",
    reason,
    setting,
  });
}
