/** How the services of a lease are doing, as a message. */
import { providerLeaseV1ServiceStatusResponse } from "../../runtime/grpc/akash-proto.ts";
import { GrpcRefusal, grpcCodes } from "../../runtime/grpc/grpc-status.ts";
import { absence, withReason } from "../rest/lease-routes.ts";
import type { TenantLease, TenantService } from "../tenant-side.ts";

export interface MeantServices {
  /** In the request; none: all that may be seen. */
  readonly named: readonly string[];
  /** Undefined: all. */
  readonly shown: ReadonlySet<string> | undefined;
}

/** Refuses where nothing runs, or where one that is named does not. */
export function leaseStatusMessage(lease: TenantLease, { named, shown }: MeantServices): Uint8Array {
  if (lease.state !== "running") throw new GrpcRefusal(grpcCodes.NotFound, withReason(absence[lease.state], lease.why));
  const { services, forwardedPorts = [], addresses = [] } = lease;
  const found = services.filter(({ name }) => shown?.has(name) ?? true);
  if (named.some((name) => !found.some((service) => service.name === name))) {
    throw new GrpcRefusal(grpcCodes.NotFound, "kube: no service for that lease");
  }
  return providerLeaseV1ServiceStatusResponse.encode({
    services: found.map((service) => ({
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
