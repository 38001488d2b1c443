/** To which service a thing of a lease belongs, by its name: of one that is gone there is nothing else left. */
import { familyOf } from "../occurrences/same-occurrence.ts";

/** Of something like "Pod web-5d9c7b-x2kqz"; where it may be of several, of the one with the longest name. */
export function serviceOf(object: string, isService: (name: string) => boolean): string | undefined {
  const at = object.indexOf(" ");
  const [kind, name] = [object.slice(0, at), object.slice(at + 1)];
  const family = familyOf(kind, name);
  // By what the name can mean, which is little: of services a tenant may name as many as a request can hold.
  for (let end = family.length; end > 0; end = family.lastIndexOf("-", end - 1)) {
    const service = family.slice(0, end);
    if (belongs(kind, family, service) && isService(service)) return service;
  }
  return undefined;
}

function belongs(kind: string, family: string, service: string): boolean {
  // A claim is called after the service, the volume, and the workload, which is the service again.
  if (kind === "PersistentVolumeClaim") return family.startsWith(`${service}-`) && family.endsWith(`-${service}`);
  // Two Services lead to one: that within the lease, and that with ports of the nodes.
  return family === service || (kind === "Service" && family === `${service}-np`);
}
