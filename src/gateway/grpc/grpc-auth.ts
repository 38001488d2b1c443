/** Authenticates a gRPC call by the token in its metadata, bare or as `Bearer <token>`, or by the certificate of its connection. */
import type { TLSSocket } from "node:tls";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { type marketV1LeaseID, providerLeaseV1ServiceStatusRequest } from "../../runtime/grpc/akash-proto.ts";
import { GrpcError, grpcCodes, readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcCall, GrpcMethod } from "../../runtime/grpc/methods.ts";
import { type Codec, type Decoded, withFewItems } from "../../runtime/protobuf.ts";
import {
  AuthError,
  type Authenticator,
  anonymous,
  type CallerCredentials,
  type CallerIdentity,
  type TokenScope,
} from "../auth/identity.ts";
import { presentedCertificates, rateLimitKeyOf } from "../rest/rate-limit-key.ts";
import type { Admission } from "../streams/admission.ts";

/** At once where everything is cached. Throws GrpcError, or AKP_CHAIN_* where the chain does not answer. */
type CallHead = Pick<GrpcCall, "headers" | "socket">;

export type Identify = (call: CallHead) => CallerIdentity | Promise<CallerIdentity>;

export function createIdentify(authenticator: Authenticator): Identify {
  return (call) => {
    const credentials = credentialsOf(call);
    if (credentials.authorization === undefined && credentials.certificates.length === 0) return anonymous;
    try {
      const known = authenticator.identify(credentials);
      return known instanceof Promise ? known.catch(asGrpcError) : known;
    } catch (thrown) {
      return asGrpcError(thrown);
    }
  };
}

/** The account that the budget for the request is counted for. */
export function callerAccount(identify: Identify): NonNullable<GrpcMethod["authenticate"]> {
  return (call) => {
    const known = identify(call);
    return known instanceof Promise ? known.then(({ owner }) => owner) : known.owner;
  };
}

/** None once the connection has closed. */
function credentialsOf({ headers, socket }: CallHead): CallerCredentials {
  return {
    authorization: socket && bearer(headers.authorization),
    certificates: socket ? presentedCertificates(socket as TLSSocket) : [],
    source: rateLimitKeyOf(socket),
  };
}

export function callerOwner(identity: CallerIdentity): Address {
  if (identity.owner === undefined) throw new GrpcError(grpcCodes.Unauthenticated, "unauthorized access");
  checkPermitted(identity.mayUseProvider);
  return identity.owner;
}

function checkPermitted(isPermitted: boolean): void {
  if (!isPermitted) throw new GrpcError(grpcCodes.PermissionDenied, "unauthorized access");
}

/** gRPC clients also send the bare token. */
function bearer(given: string | undefined): string | undefined {
  return given && !/\s/.test(given.trim()) ? `Bearer ${given.trim()}` : given;
}

const codes: Readonly<Record<AuthError["status"], number>> = {
  400: grpcCodes.Unauthenticated,
  401: grpcCodes.Unauthenticated,
  429: grpcCodes.ResourceExhausted,
  500: grpcCodes.Internal,
  503: grpcCodes.Unavailable,
};

function asGrpcError(thrown: unknown): never {
  if (thrown instanceof AuthError) throw new GrpcError(codes[thrown.status], thrown.message);
  throw thrown;
}

// Calls about leases: scopes and services of a token apply as over REST, and a stream ends with its credentials, as a WebSocket does.

/** Services that one call may name. */
export const leaseServicesNamed = 1_000;

interface LeaseCallDeps {
  readonly provider: Address;
  readonly identify: Identify;
  readonly admission: Pick<Admission, "admit">;
}

interface LeaseServices {
  readonly lease: LeaseId;
  /** The services that the request names; none: all permitted ones. */
  readonly named: readonly string[];
  /** Undefined: all. */
  readonly shown: ReadonlySet<string> | undefined;
}

export interface LeaseStream extends LeaseServices {
  readonly signal: AbortSignal;
}

export type LeaseCalls = ReturnType<typeof createLeaseCalls>;

export function createLeaseCalls({ provider, identify, admission }: LeaseCallDeps) {
  /** Reads the request, and authorizes the caller for its lease. */
  async function permit<Request extends { readonly leaseId: Decoded<typeof marketV1LeaseID> | undefined }>(
    bytes: Uint8Array,
    call: GrpcCall,
    { name, codec, scope }: { readonly name: string; readonly codec: Codec<Request>; readonly scope: TokenScope },
  ) {
    const identity = await identify(call);
    const owner = callerOwner(identity);
    const request = readRequest(name, codec, bytes);
    const { leaseId } = request;
    if (!leaseId) throw new GrpcError(grpcCodes.InvalidArgument, `a ${name} names a lease: lease_id is missing`);
    // The owner is the caller, and need not be named.
    checkPermitted(["", owner].includes(leaseId.owner));
    if (!["", provider].includes(leaseId.provider)) {
      throw new GrpcError(grpcCodes.NotFound, `the lease is not one of this provider, ${provider}`);
    }
    const lease = { ...leaseId, owner, provider };
    checkPermitted(identity.mayUseLease(lease) && identity.mayUseLease(lease, scope));
    return { identity, lease, request };
  }

  async function permitServices(bytes: Uint8Array, call: GrpcCall, scope: TokenScope) {
    const name = scope === "logs" ? "ServiceLogsRequest" : "ServiceStatusRequest";
    const { identity, lease, request } = await permit(bytes, call, { name, codec: servicesRequest, scope });
    const [given, named] = [identity.servicesOf(lease, scope), request.services];
    checkPermitted(named.every((service) => given?.has(service) ?? true));
    const services: LeaseServices = { lease, named, shown: named.length > 0 ? new Set(named) : given };
    return { identity, services };
  }

  return {
    /** Throws for a caller whose credentials permit nothing at this provider. */
    async authenticate(call: CallHead): Promise<string> {
      return callerOwner(await identify(call));
    },

    permit,

    async services(bytes: Uint8Array, call: GrpcCall, scope: TokenScope): Promise<LeaseServices> {
      return (await permitServices(bytes, call, scope)).services;
    },

    async *stream<T>(
      bytes: Uint8Array,
      call: GrpcCall,
      scope: TokenScope,
      messages: (stream: LeaseStream) => AsyncIterable<T>,
    ): AsyncGenerator<T> {
      const { identity, services } = await permitServices(bytes, call, scope);
      const admitted = admission.admit({ identity, lease: services.lease, credentials: credentialsOf(call) });
      // It may be waiting for a client that does not read.
      admitted.signal.addEventListener("abort", () => call.end(admitted.signal.reason), { once: true });
      try {
        yield* messages({ ...services, signal: AbortSignal.any([call.signal, admitted.signal]) });
        admitted.signal.throwIfAborted();
      } catch (thrown) {
        throw admitted.signal.aborted ? admitted.signal.reason : thrown;
      } finally {
        admitted.release();
      }
    },
  };
}

/** A ServiceLogsRequest has the same fields. */
const servicesRequest = withFewItems(providerLeaseV1ServiceStatusRequest, leaseServicesNamed);
