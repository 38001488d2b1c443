/** Status of leases and their services. */

import type {
  ForwardedPort,
  LeasedAddress,
  RunningLease,
  TenantHost,
  TenantLeases,
  TenantService,
} from "../../kube/tenant-access.ts";
import type { Address } from "../../market/address.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import { checkAllowed } from "../auth/identity.ts";
import { empty, failure, json, type RestAnswer } from "./answer.ts";
import type { LeaseRequest, Route } from "./route.ts";

interface LeaseRoutesDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
}

/** The services that a token is limited to; undefined: all. */
type Shown = ReadonlySet<string> | undefined;

const scope = "status";
const errors = { 401: "Not the lease's owner, or not permitted.", 503: "The state of the cluster is unknown." };

/** In the words of the Go provider. */
export const absence = {
  unknown: "kube: lease not found",
  bare: "kube: no manifest for lease",
  idle: "kube: no deployments for lease",
} as const;

export function leaseRoutes({ provider, leases }: LeaseRoutesDeps): Route[] {
  function find({ owner, dseq, gseq, oseq }: LeaseRequest) {
    return leases.find(bidOn({ owner, dseq, gseq, oseq }, provider));
  }

  function leaseStatus(request: LeaseRequest): RestAnswer {
    const lease = find(request);
    if (lease.state === "running") return json(statusText(lease, request.identity.servicesOf(request, scope)));
    // The Go provider sends no body where there is no manifest; this one gives the reason, if any.
    if (lease.state !== "idle" && lease.why === undefined) return empty(404);
    return failure(404, withReason(absence.idle, lease.why));
  }

  function serviceStatus(request: LeaseRequest): RestAnswer {
    const name = request.names["serviceName"] ?? "";
    const shown = request.identity.servicesOf(request, scope);
    checkAllowed(isShown(name, shown));
    const lease = find(request);
    if (lease.state !== "running") return failure(404, withReason(absence[lease.state], lease.why));
    const service = lease.services.find((each) => each.name === name);
    return service ? json(goJson(serviceOf(service))) : failure(404, "kube: no service for that lease");
  }

  return [
    {
      ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/status", access: "lease", scope },
      about: "Status of the services of a lease, and their ports and addresses.",
      answers: { 200: "The status.", 404: "Nothing runs for such a lease.", ...errors },
      handle: leaseStatus,
    },
    {
      ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/service/{serviceName}/status", access: "lease", scope },
      about: "Status of one service of a lease.",
      answers: { 200: "The status.", 404: "There is no such lease, or no such service in it.", ...errors },
      handle: serviceStatus,
    },
  ];
}

function statusText(lease: RunningLease, shown: Shown): string {
  const { services, forwardedPorts, addresses, hostHealth = [], errors } = lease;
  const visible = <T extends { readonly service: string | undefined }>(items: readonly T[]) =>
    items.filter(({ service }) => service === undefined || isShown(service, shown));
  const byService = <T extends { readonly service: string }>(items: readonly T[], write: (item: T) => object) =>
    sorted([...Map.groupBy(visible(items), ({ service }) => service)].map(([name, own]) => [name, own.map(write)]));
  const [hosts, texts] = [visible(hostHealth), visible(errors)];
  return goJson({
    services: sorted(
      services.filter(({ name }) => isShown(name, shown)).map((service) => [service.name, serviceOf(service)]),
    ),
    forwarded_ports: forwardedPorts ? byService(forwardedPorts, forwardedPortOf) : null,
    ips: addresses ? byService(addresses, leasedAddressOf) : null,
    // Not fields of the Go provider; clients ignore unknown ones.
    ...(hosts.length > 0 && { hostnames: hosts.map(hostnameOf) }),
    ...(texts.length > 0 && { errors: texts.map(({ text }) => text) }),
  });
}

/** By name, as Go writes a map. */
function sorted(entries: (readonly [name: string, value: unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function serviceOf(service: TenantService) {
  const { name, hosts, observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas } = service;
  return {
    name,
    available: availableReplicas,
    total: replicas,
    uris: hosts.length > 0 ? hosts : null,
    observed_generation: observedGeneration,
    replicas,
    updated_replicas: updatedReplicas,
    ready_replicas: readyReplicas,
    available_replicas: availableReplicas,
  };
}

function forwardedPortOf({ service: name, host, port, externalPort, protocol: proto }: ForwardedPort) {
  return { ...(host !== "" && { host }), port, externalPort, proto, name };
}

function hostnameOf({ host, service, health, why }: TenantHost) {
  return { hostname: host, service, health, ...(why !== "" && { message: why }) };
}

function leasedAddressOf({ port: Port, externalPort: ExternalPort, protocol: Protocol, address: IP }: LeasedAddress) {
  return { Port, ExternalPort, Protocol, IP };
}

function isShown(service: string, shown: Shown): boolean {
  return shown?.has(service) ?? true;
}

export function withReason(text: string, why: string | undefined): string {
  return why === undefined ? text : `${text}: ${why}`;
}
