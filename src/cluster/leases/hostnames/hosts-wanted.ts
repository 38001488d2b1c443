/** Which host names a workload is to be reached by, and what each leads to. */
import type { LeaseWorkload } from "../../../kube/objects/lease-workload.ts";
import { isIngress } from "../../../market/manifest.ts";
import { staticHost } from "../../../market/static-host.ts";

export interface HostWanted {
  /** In lower case; "*.example.com" is a wildcard. */
  readonly host: string;
  readonly service: string;
  readonly externalPort: number;
}

export interface StaticHosts {
  /** Below which every service that is exposed over HTTP gets a name of its own; undefined where none does. */
  readonly staticHostDomain: string | undefined;
}

/** Each name once; of one that is given twice, the first. */
export function hostsWanted(
  { lease, group }: Pick<LeaseWorkload, "lease" | "group">,
  { staticHostDomain }: StaticHosts,
): HostWanted[] {
  const wanted = new Map<string, HostWanted>();
  for (const { name: service, expose } of group.services) {
    for (const { hosts, externalPort, port } of expose.filter(isIngress)) {
      const own = staticHostDomain === undefined ? [] : [staticHost(lease, service, staticHostDomain)];
      for (const host of [...own, ...(hosts ?? []).map((each) => each.toLowerCase())]) {
        if (!wanted.has(host)) wanted.set(host, { host, service, externalPort: externalPort || port });
      }
    }
  }
  return [...wanted.values()];
}
