/** A host name as the provider declared it: what this operator keeps of a ProviderHost. */
import type { KubeObject } from "../../kube/kube.ts";
import { providerHostName, readProviderHost } from "../../kube/objects/provider-host.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { parseTime } from "../../runtime/clock.ts";

export interface DeclaredHost {
  /** The host name; of an object that says none that is its own, the name of the object. */
  readonly key: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** Its spec was changed after it was made, so it may have changed hands. */
  readonly isChanged: boolean;
  /** What it says; undefined where that is nothing that could be served. */
  readonly says: DeclaredRoute | undefined;
}

export interface DeclaredRoute {
  readonly host: string;
  readonly lease: LeaseId;
  /** Where the workload of the lease is. */
  readonly namespace: string;
  readonly service: string;
  readonly externalPort: number;
}

export function projectHost(object: KubeObject): DeclaredHost {
  const { name, creationTimestamp = "", generation = 1 } = object.metadata;
  const read = readProviderHost(object);
  // One object has a name; another that claims the same host would be a second one for it.
  const isOwn = read !== undefined && providerHostName(read.host) === name;
  return {
    key: isOwn ? read.host : name,
    name,
    createdAtMs: parseTime(creationTimestamp) || 0,
    isChanged: generation > 1,
    says: isOwn && isPort(read.externalPort) ? { ...read, namespace: leaseNamespace(read.lease) } : undefined,
  };
}

/** Another number could not even be told of: the messages that all names are told in would not be encoded. */
function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port <= 65_535;
}

/** By which the host names of a Service are found. */
export function serviceKey(namespace: string, service: string): string {
  return `${namespace}/${service}`;
}
