/** The leased addresses, in a ConfigMap for the environment: an address that changes does not restart pods. */
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { kinds } from "../kinds.ts";
import { memberLabels } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";
import { endpointKey } from "./leased-ip.ts";

const name = "akash-addresses";

interface AddressVariable {
  readonly name: string;
  readonly valueFrom: {
    readonly configMapKeyRef: { readonly name: string; readonly key: string; readonly optional: true };
  };
}

/** AKASH_IP_<ENDPOINT> for each endpoint that the service is exposed on; of two that are written alike, the first. */
export function addressVariables({ expose }: Pick<ManifestService, "expose">): AddressVariable[] {
  const variables = new Map<string, AddressVariable>();
  for (const { global, ip } of expose) {
    if (!global || ip === "") continue;
    const variable = `AKASH_IP_${ip.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
    if (variables.has(variable)) continue;
    // Optional: a pod does not wait for an address that may never come.
    variables.set(variable, {
      name: variable,
      valueFrom: { configMapKeyRef: { name, key: endpointKey(ip), optional: true } },
    });
  }
  return [...variables.values()];
}

/** By endpoint, those that are known. */
export function leaseAddresses(lease: LeaseId, addresses: ReadonlyMap<string, string>): DesiredObject {
  const data = Object.fromEntries([...addresses].map(([endpoint, address]) => [endpointKey(endpoint), address]));
  return {
    kind: kinds.configMap,
    object: { metadata: { name, namespace: leaseNamespace(lease), labels: memberLabels(lease) }, data },
  };
}
