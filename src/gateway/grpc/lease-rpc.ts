/** akash.provider.lease.v1.LeaseRPC: what a tenant does with a lease, over gRPC. */

import type { LogsRequest, TenantLease, TenantLeases, TenantPods } from "../../kube/tenant-access.ts";
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
import type { GrpcMethod, UnaryMethod } from "../../runtime/grpc/methods.ts";
import { withFewItems } from "../../runtime/protobuf.ts";
import { absence, withReason } from "../rest/lease-routes.ts";
import type { TenantManifests } from "../rest/manifest-routes.ts";
import { gatewayAnswerMs } from "../rest/rest.ts";
import type { LeaseCalls, LeaseStream } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { gatherLogs, logsMessages, manifestText } from "./lease-messages.ts";

/** How often a status that clients follow is read, the provider's or a lease's. */
export const followedStatusMs = second;
/** Items of all lists in a manifest over gRPC; over REST a manifest has at most 50,000 values. */
const manifestItems = 50_000;
/** Logs in one response: Go clients accept 4 MB. */
const leaseLogsBytes = 3 * 2 ** 20;
/** Lines per container in one response, to bound what is read. */
const leaseLogsLines = 20_000;
/** Logs in one message of a stream. */
const leaseLogsMessageBytes = 2 ** 20;

interface LeaseRpcDeps {
  readonly calls: LeaseCalls;
  readonly leases: Pick<TenantLeases, "find">;
  readonly manifests: Pick<TenantManifests, "submit">;
  readonly pods: Pick<TenantPods, "logs">;
  readonly clock: Clock;
}

type Answer = UnaryMethod["answer"];

const manifestRequest = withFewItems(providerLeaseV1SendManifestRequest, manifestItems);

export function createLeaseRpc({ calls, leases, manifests, pods, clock }: LeaseRpcDeps): GrpcService {
  function findLease({ lease, named }: Pick<LeaseStream, "lease" | "named">): TenantLease {
    const found = leases.find(lease);
    checkServices(found, named);
    return found;
  }

  /** Not limited by services: the manifest must have the hash on chain, which only the owner can set. */
  const sendManifest: Answer = async (bytes, call) => {
    const request = { name: "SendManifestRequest", codec: manifestRequest, scope: "send-manifest" } as const;
    const permitted = await calls.permit(bytes, call, request);
    const { owner, dseq } = permitted.lease;
    const submitting = manifests.submit({ owner, dseq }, manifestText(permitted.request.manifest), call.signal);
    await withDeadline(clock, gatewayAnswerMs, submitting.catch(otherVersion), () => {
      throw late();
    });
    return { message: new Uint8Array() };
  };

  const serviceStatus: Answer = async (bytes, call) => {
    const services = await calls.services(bytes, call, "status");
    return { message: leaseStatusMessage(findLease(services), services.shown) };
  };

  /** The status now, and again whenever it changes. Read from caches. */
  async function* statuses({ lease, named, shown, signal }: LeaseStream): AsyncGenerator<Uint8Array> {
    let last = leaseStatusMessage(findLease({ lease, named }), shown);
    yield last;
    for (;;) {
      await sleep(clock, followedStatusMs, signal);
      const now = readStatus(lease, shown) ?? last;
      if (Buffer.compare(now, last) !== 0) yield now;
      last = now;
    }
  }

  /** Undefined while the caches are not current. */
  function readStatus(lease: LeaseId, shown: LeaseStream["shown"]): Uint8Array | undefined {
    try {
      return leaseStatusMessage(leases.find(lease), shown);
    } catch (thrown) {
      if (ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) return undefined;
      throw thrown;
    }
  }

  const serviceLogs: Answer = async (bytes, call) => {
    const gathered = gatherLogs(leaseLogsBytes);
    const lines = (stream: LeaseStream) => linesOf(stream, { follow: false, tail: leaseLogsLines });
    for await (const batch of calls.stream(bytes, call, "logs", lines)) gathered.add(batch);
    return { message: gathered.message() };
  };

  async function* logs(stream: LeaseStream): AsyncGenerator<Uint8Array> {
    for await (const lines of linesOf(stream, { follow: true, tail: undefined }))
      yield* logsMessages(lines, leaseLogsMessageBytes);
  }

  function linesOf(
    { lease, named, shown: services, signal }: LeaseStream,
    options: Pick<LogsRequest, "follow" | "tail">,
  ) {
    findLease({ lease, named });
    return pods.logs(lease, { services, signal, ...options });
  }

  const { authenticate } = calls;
  const unary = (answer: Answer): GrpcMethod => ({ kind: "unary", authenticate, answer });
  const methods: Readonly<Record<string, GrpcMethod>> = {
    SendManifest: unary(sendManifest),
    ServiceStatus: unary(serviceStatus),
    StreamServiceStatus: {
      kind: "stream",
      authenticate,
      answers: (bytes, call) => calls.stream(bytes, call, "status", statuses),
    },
    ServiceLogs: unary(serviceLogs),
    StreamServiceLogs: {
      kind: "stream",
      authenticate,
      answers: (bytes, call) => calls.stream(bytes, call, "logs", logs),
    },
    AttestationQuote: unary(() => {
      throw new GrpcError(
        grpcCodes.Unimplemented,
        "no trusted execution environment here, so there is nothing to attest",
      );
    }),
  };
  return {
    file: providerLeaseV1ServiceFile,
    methods: Object.entries(methods).map(([name, method]) => [`/akash.provider.lease.v1.LeaseRPC/${name}`, method]),
  };
}

/** The only error that REST does not have. */
function otherVersion(thrown: unknown): never {
  if (!ProviderError.is(thrown, "AKP_MANIFEST_OTHER_VERSION")) throw thrown;
  const hint = "gRPC does not distinguish an empty list of an SDL from a missing one: leave it out";
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
      .map(({ name, hosts, observedGeneration, ...counts }) => ({
        name,
        status: {
          ...{ available: counts.availableReplicas, total: counts.replicas, uris: [...hosts] },
          ...{ observedGeneration: BigInt(observedGeneration), ...counts },
        },
        ports: forwardedPorts
          .filter(({ service }) => service === name)
          .map(({ host, port, externalPort, protocol: proto }) => ({ host, port, externalPort, proto, name })),
        ips: addresses
          .filter(({ service }) => service === name)
          .map(({ port, externalPort, protocol, address: ip }) => ({ port, externalPort, protocol, ip })),
      })),
  });
}
