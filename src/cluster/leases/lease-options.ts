/** What the operator's settings say of leases. */

import type { ObjectSettings } from "../../kube/objects/container.ts";
import type { AddressSharing } from "../capacity/addresses/lease-addresses.ts";
import type { MonitorOptions } from "../health/monitoring.ts";
import type { HostnameSettings, StaticHosts } from "./declarations/hostnames.ts";
import type { NetworkSettings } from "./watched-network.ts";

export interface LeaseOptions extends Omit<ObjectSettings, "overcommit" | "policies"> {
  /** Where the custom resources of all leases are; it must exist. */
  readonly manifestNamespace: string;
  readonly hosts: Pick<HostnameSettings, "blockedHosts" | "ingressDomain" | "requiresProof"> & StaticHosts;
  readonly addressSharing: AddressSharing;
  readonly network: NetworkSettings;
  readonly monitor: MonitorOptions;
}

export const leaseDefaults: LeaseOptions = {
  manifestNamespace: "lease",
  clusterPublicHostname: "",
  hosts: { blockedHosts: [], ingressDomain: undefined, staticHostDomain: undefined },
  addressSharing: "endpoint",
  network: { enabled: true, admitted: [{ pods: "ingress-nginx" }, { pods: "traefik" }], closedRanges: [] },
  monitor: { maxRetries: 2_304, retryPeriodMs: 30_000, retryJitterMs: 15_000 },
};
