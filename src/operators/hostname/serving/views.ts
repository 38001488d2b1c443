/** How host names are told over REST: in the network's fields, and with all that we know besides. */
import { formatGoTime, formatTime } from "../../../runtime/clock.ts";
import { leaseFields } from "../../serving/lease-fields.ts";
import type { HostState, HostStates } from "../host-states.ts";

/** `/managed-hostnames`: what is served; undefined while nothing is. */
export function managedView(states: HostStates): Readonly<Record<string, object>> | undefined {
  const served = sorted(states).filter(({ state }) => state === "served");
  return served.length === 0 ? undefined : Object.fromEntries(served.map((state) => [state.host, managed(state)]));
}

function managed({ lease, namespace, externalPort, service, changedAtMs }: HostState): object {
  return {
    LeaseID: lease && leaseFields(lease),
    Namespace: namespace,
    ExternalPort: externalPort,
    ServiceName: service,
    LastUpdate: formatGoTime(changedAtMs),
  };
}

/** `/hostnames`: all of them, with health and conditions. */
export function hostnamesView(states: HostStates): readonly object[] {
  return sorted(states).map(({ host, lease, namespace, service, externalPort, endpoints, changedAtMs, ...rest }) => ({
    hostname: host,
    lease: lease && leaseFields(lease),
    ...{ namespace, service, external_port: externalPort },
    ...{ state: rest.state, health: rest.health, route: rest.route },
    endpoints: endpoints ?? null,
    conditions: rest.conditions,
    changed_at: formatTime(changedAtMs),
  }));
}

function sorted(states: HostStates): HostState[] {
  return [...states.list()].sort((a, b) => (a.host < b.host ? -1 : 1));
}
