/**
 * akash.provider.lease.v1.LeaseRPC: what a tenant does with a lease, over gRPC. Who asks is looked at before the request is read, and
 * a token's scopes and services hold as they do over REST.
 */
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { type Clock, withDeadline } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import {
  type marketV1LeaseID,
  providerLeaseV1SendManifestRequest,
  providerLeaseV1ServiceFile,
  providerLeaseV1ServiceStatusRequest,
} from "../../runtime/grpc/akash-proto.ts";
import { GrpcRefusal, grpcCodes, readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcCall, GrpcMethod } from "../../runtime/grpc/methods.ts";
import { limits } from "../../runtime/limits.ts";
import { type Codec, type Decoded, withFewItems } from "../../runtime/protobuf.ts";
import type { Identity, Scope } from "../auth/identity.ts";
import type { TenantLeases, TenantManifests } from "../tenant-side.ts";
import { checkPermitted, type Identify, ownerOf } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { leaseStatusMessage } from "./lease-status-message.ts";
import { manifestText } from "./manifest-message.ts";

interface LeaseRpcDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
  readonly manifests: Pick<TenantManifests, "submit">;
  readonly identify: Identify;
  readonly clock: Clock;
}

/** What is asked, by somebody who may have it. */
interface Asked<Request> {
  readonly identity: Identity;
  readonly lease: LeaseId;
  readonly request: Request;
}

interface LeaseMessage {
  readonly leaseId: Decoded<typeof marketV1LeaseID> | undefined;
}

export function createLeaseRpc({ provider, leases, manifests, identify, clock }: LeaseRpcDeps): GrpcService {
  async function permit<Request extends LeaseMessage>(
    bytes: Uint8Array,
    call: GrpcCall,
    as: { readonly name: string; readonly codec: Codec<Request>; readonly scope: Scope },
  ): Promise<Asked<Request>> {
    const identity = await identify(call);
    const owner = ownerOf(identity);
    const request = readRequest(as.name, as.codec, bytes);
    const { leaseId } = request;
    if (!leaseId) throw new GrpcRefusal(grpcCodes.InvalidArgument, `a ${as.name} names a lease: lease_id is missing`);
    // Whose lease it is follows from who asks; it may be said as well.
    checkPermitted(["", owner].includes(leaseId.owner));
    if (!["", provider].includes(leaseId.provider)) {
      throw new GrpcRefusal(grpcCodes.NotFound, `the lease is not one of ${provider}, who answers here`);
    }
    const lease = { ...leaseId, owner, provider };
    checkPermitted(identity.mayUseLease(lease) && identity.mayUseLease(lease, as.scope));
    return { identity, lease, request };
  }

  const sendManifest: GrpcMethod = {
    kind: "unary",
    async answer(bytes, call) {
      const asked = await permit(bytes, call, {
        ...{ name: "SendManifestRequest", codec: manifestRequest, scope: "send-manifest" },
      });
      const { owner, dseq } = asked.lease;
      const body = manifestText(asked.request.manifest);
      // Its hash must be the one on chain, which its owner alone can have put there: so no service is kept from a token here.
      await inTime(manifests.submit({ owner, dseq }, body, call.signal).catch(otherVersion));
      return { message: nothing };
    },
  };

  const serviceStatus: GrpcMethod = {
    kind: "unary",
    async answer(bytes, call) {
      const { lease, ...services } = await permitServices(bytes, call, "ServiceStatusRequest", "status");
      return { message: leaseStatusMessage(leases.find(lease), services) };
    },
  };

  async function permitServices(bytes: Uint8Array, call: GrpcCall, name: string, scope: Scope) {
    const { identity, lease, request } = await permit(bytes, call, { name, codec: servicesRequest, scope });
    const [given, named] = [identity.servicesOf(lease, scope), request.services];
    checkPermitted(named.every((service) => given?.has(service) ?? true));
    return { lease, named, shown: named.length > 0 ? new Set(named) : given };
  }

  function inTime<T>(working: Promise<T>): Promise<T> {
    return withDeadline(clock, limits.gatewayAnswerMs, working, () => {
      throw new GrpcRefusal(grpcCodes.DeadlineExceeded, "context deadline exceeded");
    });
  }

  const attestationQuote: GrpcMethod = {
    kind: "unary",
    answer() {
      const why = "nothing runs here in a trusted execution environment, so there is nothing to attest";
      throw new GrpcRefusal(grpcCodes.Unimplemented, why);
    },
  };

  const methods = { SendManifest: sendManifest, ServiceStatus: serviceStatus, AttestationQuote: attestationQuote };
  return {
    file: providerLeaseV1ServiceFile,
    methods: Object.entries(methods).map(([name, method]) => [`/akash.provider.lease.v1.LeaseRPC/${name}`, method]),
  };
}

const manifestRequest = withFewItems(providerLeaseV1SendManifestRequest, limits.manifestItems);
/** The same as of a ServiceLogsRequest. */
const servicesRequest = withFewItems(providerLeaseV1ServiceStatusRequest, limits.leaseServicesNamed);

const nothing = new Uint8Array();

/** The one thing that may be wrong with it here and is not over REST. */
function otherVersion(thrown: unknown): never {
  if (!ProviderError.is(thrown, "AKP_MANIFEST_OTHER_VERSION")) throw thrown;
  const hint =
    "over gRPC a list that an SDL gives as empty cannot be told from one that it does not give: leave it out";
  throw new GrpcRefusal(grpcCodes.InvalidArgument, `${thrown.message} (${hint}, or send the manifest over REST)`);
}
