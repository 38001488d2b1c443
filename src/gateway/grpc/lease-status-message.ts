/** How the services of a lease are doing, as a message. */
import { providerLeaseV1ServiceStatusResponse } from "../../runtime/grpc/akash-proto.ts";
import { GrpcRefusal, grpcCodes } from "../../runtime/grpc/grpc-status.ts";
import { absence, withReason } from "../rest/lease-routes.ts";
import type { TenantLease, TenantService } from "../tenant-side.ts";

/** Refuses where nothing runs, or where one that is named does not. */
export function checkServices(lease: TenantLease, named: readonly string[]): void {
  if (lease.state !== "running") throw new GrpcRefusal(grpcCodes.NotFound, withReason(absence[lease.state], lease.why));
  if (named.every((name) => lease.services.some((service) => service.name === name))) return;
  throw new GrpcRefusal(grpcCodes.NotFound, "kube: no service for that lease");
}

/** An empty one where nothing runs. */
export function leaseStatusMessage(lease: TenantLease, shown: ReadonlySet<string> | undefined): Uint8Array {
  const { services, forwardedPorts = [], addresses = [] } = lease.state === "running" ? lease : { services: [] };
  return providerLeaseV1ServiceStatusResponse.encode({
    services: services
      .filter(({ name }) => shown?.has(name) ?? true)
      .map((service) => ({
        name: service.name,
        status: statusOf(service),
        ports: forwardedPorts
          .filter((port) => port.service === service.name)
          .map(({ service: name, host, port, externalPort, protocol: proto }) => ({
            ...{ host, port, externalPort, proto, name },
          })),
        ips: addresses
          .filter((address) => address.service === service.name)
          .map(({ port, externalPort, protocol, address: ip }) => ({ port, externalPort, protocol, ip })),
      })),
  });
}

function statusOf({ hosts, observedGeneration, replicas, availableReplicas, ...counts }: TenantService) {
  return {
    ...{ available: availableReplicas, total: replicas, uris: [...hosts] },
    observedGeneration: BigInt(observedGeneration),
    ...{ replicas, availableReplicas, updatedReplicas: counts.updatedReplicas, readyReplicas: counts.readyReplicas },
  };
}
