/** Where a Service answers whoever is inside the cluster. */
import { fieldsOf, recordsOf } from "./json-fields.ts";
import type { KubeObject } from "./kube.ts";

export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Undefined where the Service has no port of this name. */
export function serviceAddress(
  { metadata, ...service }: KubeObject,
  portName: string,
  clusterDomain: string,
): ServiceAddress | undefined {
  const ports = recordsOf(fieldsOf(service["spec"])["ports"]);
  const port = ports.find(({ name }) => name === portName)?.["port"];
  if (typeof port !== "number") return undefined;
  return { host: `${metadata.name}.${metadata.namespace}.svc.${clusterDomain}`, port };
}
