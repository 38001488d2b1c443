/** akash.provider.lease.v1.LeaseRPC: what a tenant does with a lease, over gRPC. */

import type { TenantLease, TenantLeases, TenantPods, TenantService } from "../../kube/tenant-access.ts";
import type { LeaseId } from "../../market/ids.ts";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import {
  providerLeaseV1SendManifestRequest,
  providerLeaseV1ServiceFile,
  providerLeaseV1ServiceStatusResponse,
} from "../../runtime/grpc/akash-proto.ts";
import { GrpcError, grpcCodes, late } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { withFewItems } from "../../runtime/protobuf.ts";
import { absence, withReason } from "../rest/lease-routes.ts";
import type { TenantManifests } from "../rest/manifest-routes.ts";
import { gatewayAnswerMs } from "../rest/rest.ts";
import type { LeaseCalls, LeaseStream } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { gatherLogs, logsMessages, manifestText } from "./lease-messages.ts";

/** How often it is looked whether a status has changed, ours or a lease's, while somebody follows it. */
export const followedStatusMs = second;
/** Of all lists in a manifest over gRPC: its JSON may have 50,000 values. */
const manifestItems = 50_000;
/** Of logs in one answer: Go clients take 4 MB. */
const leaseLogsBytes = 3 * 2 ** 20;
/** Of each container there, or gigabytes would be read for them. */
const leaseLogsLines = 20_000;
/** Of logs in one message of a stream. */
const leaseLogsMessageBytes = 2 ** 20;

interface LeaseRpcDeps {
  readonly calls: LeaseCalls;
  readonly leases: Pick<TenantLeases, "find">;
  readonly manifests: Pick<TenantManifests, "submit">;
  readonly pods: Pick<TenantPods, "logs">;
  readonly clock: Clock;
}

const manifestRequest = withFewItems(providerLeaseV1SendManifestRequest, manifestItems);

export function createLeaseRpc({ calls, leases, manifests, pods, clock }: LeaseRpcDeps): GrpcService {
  /** Its hash must be the one on chain, which its owner alone can have put there: so no service is kept from a token here. */
  const sendManifest: GrpcMethod = {
    kind: "unary",
    async answer(bytes, call) {
      const as = { name: "SendManifestRequest", codec: manifestRequest, scope: "send-manifest" } as const;
      const { lease, request } = await calls.permit(bytes, call, as);
      const { owner, dseq } = lease;
      const taking = manifests.submit({ owner, dseq }, manifestText(request.manifest), call.signal);
      await withDeadline(clock, gatewayAnswerMs, taking.catch(otherVersion), () => {
        throw late();
      });
      return { message: new Uint8Array() };
    },
  };

  const serviceStatus: GrpcMethod = {
    kind: "unary",
    async answer(bytes, call) {
      const { lease, named, shown } = await calls.services(bytes, call, "status");
      const found = leases.find(lease);
      checkServices(found, named);
      return { message: leaseStatusMessage(found, shown) };
    },
  };

  const streamServiceStatus: GrpcMethod = {
    kind: "stream",
    answers: (bytes, call) => calls.stream(bytes, call, "status", statuses),
  };

  /** As it is, and then whenever it is another. It comes from caches, so that looking costs little. */
  async function* statuses({ lease, named, shown, signal }: LeaseStream): AsyncGenerator<Uint8Array> {
    const found = leases.find(lease);
    checkServices(found, named);
    let told = leaseStatusMessage(found, shown);
    yield told;
    for (;;) {
      await sleep(clock, followedStatusMs, signal);
      const now = statusKnown(lease, shown) ?? told;
      if (Buffer.compare(now, told) !== 0) yield now;
      told = now;
    }
  }

  /** What is merely not known for a while is no news. */
  function statusKnown(lease: LeaseId, shown: LeaseStream["shown"]): Uint8Array | undefined {
    try {
      return leaseStatusMessage(leases.find(lease), shown);
    } catch (thrown) {
      if (ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) return undefined;
      throw thrown;
    }
  }

  const serviceLogs: GrpcMethod = {
    kind: "unary",
    async answer(bytes, call) {
      const gathered = gatherLogs(leaseLogsBytes);
      const all = ({ lease, named, shown: services, signal }: LeaseStream) => {
        checkServices(leases.find(lease), named);
        return pods.logs(lease, { services, follow: false, tail: leaseLogsLines, signal });
      };
      for await (const lines of calls.stream(bytes, call, "logs", all)) gathered.add(lines);
      return { message: gathered.message() };
    },
  };

  const streamServiceLogs: GrpcMethod = {
    kind: "stream",
    answers: (bytes, call) => calls.stream(bytes, call, "logs", logs),
  };

  async function* logs({ lease, named, shown: services, signal }: LeaseStream): AsyncGenerator<Uint8Array> {
    checkServices(leases.find(lease), named);
    for await (const lines of pods.logs(lease, { services, follow: true, tail: undefined, signal })) {
      yield* logsMessages(lines, leaseLogsMessageBytes);
    }
  }

  const methods = {
    SendManifest: sendManifest,
    ServiceStatus: serviceStatus,
    StreamServiceStatus: streamServiceStatus,
    ServiceLogs: serviceLogs,
    StreamServiceLogs: streamServiceLogs,
    AttestationQuote: attestationQuote,
  };
  return {
    file: providerLeaseV1ServiceFile,
    methods: Object.entries(methods).map(([name, method]) => [
      `/akash.provider.lease.v1.LeaseRPC/${name}`,
      { ...method, authenticate: calls.authenticate },
    ]),
  };
}

const attestationQuote: GrpcMethod = {
  kind: "unary",
  answer() {
    const why = "nothing runs here in a trusted execution environment, so there is nothing to attest";
    throw new GrpcError(grpcCodes.Unimplemented, why);
  },
};

/** The one thing that may be wrong with it here and is not over REST. */
function otherVersion(thrown: unknown): never {
  if (!ProviderError.is(thrown, "AKP_MANIFEST_OTHER_VERSION")) throw thrown;
  const hint =
    "over gRPC a list that an SDL gives as empty cannot be told from one that it does not give: leave it out";
  throw new GrpcError(grpcCodes.InvalidArgument, `${thrown.message} (${hint}, or send the manifest over REST)`);
}

function checkServices(lease: TenantLease, named: readonly string[]): void {
  if (lease.state !== "running") throw new GrpcError(grpcCodes.NotFound, withReason(absence[lease.state], lease.why));
  if (named.every((name) => lease.services.some((service) => service.name === name))) return;
  throw new GrpcError(grpcCodes.NotFound, "kube: no service for that lease");
}

function leaseStatusMessage(lease: TenantLease, shown: ReadonlySet<string> | undefined): Uint8Array {
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
