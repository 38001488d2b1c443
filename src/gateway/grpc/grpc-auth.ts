/** Who makes a gRPC call: by the token of its metadata, raw or as `Bearer <token>`, or by the certificate of its connection. */
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

/** Answers at once where everything is known already. Throws GrpcError; AKP_CHAIN_* where the chain does not answer. */
export type Identify = (call: Pick<GrpcCall, "headers" | "socket">) => CallerIdentity | Promise<CallerIdentity>;

export function createIdentify(authenticator: Authenticator): Identify {
  return ({ headers, socket }) => {
    const credentials = credentialsOf({ headers, socket });
    if (credentials.authorization === undefined && credentials.certificates.length === 0) return anonymous;
    try {
      const known = authenticator.identify(credentials);
      return known instanceof Promise ? known.catch(refused) : known;
    } catch (thrown) {
      return refused(thrown);
    }
  };
}

/** Who makes the call, as far as the budget for its request is concerned. */
export function callerAccount(identify: Identify): NonNullable<GrpcMethod["authenticate"]> {
  return (call) => {
    const known = identify(call);
    return known instanceof Promise ? known.then(({ owner }) => owner) : known.owner;
  };
}

/** None where the connection is gone: nobody is answered there anyway. */
function credentialsOf({ headers, socket }: Pick<GrpcCall, "headers" | "socket">): CallerCredentials {
  return {
    authorization: socket && bearer(headers.authorization),
    certificates: socket ? presentedCertificates(socket as TLSSocket) : [],
    source: rateLimitKeyOf(socket),
  };
}

export function callerOwner(identity: CallerIdentity): NonNullable<CallerIdentity["owner"]> {
  if (identity.owner === undefined) throw new GrpcError(grpcCodes.Unauthenticated, "unauthorized access");
  checkPermitted(identity.mayUseProvider);
  return identity.owner;
}

function checkPermitted(isPermitted: boolean): void {
  if (!isPermitted) throw new GrpcError(grpcCodes.PermissionDenied, "unauthorized access");
}

/** Clients of gRPC also send the bare token. */
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

function refused(thrown: unknown): never {
  if (thrown instanceof AuthError) throw new GrpcError(codes[thrown.status], thrown.message);
  throw thrown;
}

// Calls about leases: scopes and services of a token hold as over REST, and a stream ends with what let it in, as a WebSocket does.

/** Services that one call names; who means more names none. */
export const leaseServicesNamed = 1_000;

interface LeaseCallDeps {
  readonly provider: Address;
  readonly identify: Identify;
  readonly admission: Pick<Admission, "admit">;
}

interface LeaseMessage {
  readonly leaseId: Decoded<typeof marketV1LeaseID> | undefined;
}

interface As<Request> {
  readonly name: string;
  readonly codec: Codec<Request>;
  readonly scope: TokenScope;
}

interface Permitted<Request> {
  readonly identity: CallerIdentity;
  readonly lease: LeaseId;
  readonly request: Request;
}

interface MeantServices {
  readonly lease: LeaseId;
  /** In the request; none: all that may be seen. */
  readonly named: readonly string[];
  readonly shown: ReadonlySet<string> | undefined;
}

export interface LeaseStream extends MeantServices {
  readonly signal: AbortSignal;
}

export type LeaseCalls = ReturnType<typeof createLeaseCalls>;

export function createLeaseCalls({ provider, identify, admission }: LeaseCallDeps) {
  async function permit<Request extends LeaseMessage>(
    bytes: Uint8Array,
    call: GrpcCall,
    { name, codec, scope }: As<Request>,
  ): Promise<Permitted<Request>> {
    const identity = await identify(call);
    const owner = callerOwner(identity);
    const request = readRequest(name, codec, bytes);
    const { leaseId } = request;
    if (!leaseId) throw new GrpcError(grpcCodes.InvalidArgument, `a ${name} names a lease: lease_id is missing`);
    // Whose lease it is follows from who asks; it may be said as well.
    checkPermitted(["", owner].includes(leaseId.owner));
    if (!["", provider].includes(leaseId.provider)) {
      throw new GrpcError(grpcCodes.NotFound, `the lease is not one of ${provider}, who answers here`);
    }
    const lease = { ...leaseId, owner, provider };
    checkPermitted(identity.mayUseLease(lease) && identity.mayUseLease(lease, scope));
    return { identity, lease, request };
  }

  function meant({ identity, lease, request }: Permitted<ServicesRequest>, scope: TokenScope): MeantServices {
    const [given, named] = [identity.servicesOf(lease, scope), request.services];
    checkPermitted(named.every((service) => given?.has(service) ?? true));
    return { lease, named, shown: named.length > 0 ? new Set(named) : given };
  }

  return {
    /** Throws for a caller whose credentials open nothing here, whatever the request says. */
    async authenticate(call: Pick<GrpcCall, "headers" | "socket">): Promise<string> {
      return callerOwner(await identify(call));
    },

    permit,

    async services(bytes: Uint8Array, call: GrpcCall, scope: TokenScope): Promise<MeantServices> {
      return meant(await permit(bytes, call, { name: "ServiceStatusRequest", codec: servicesRequest, scope }), scope);
    },

    async *stream<T>(
      bytes: Uint8Array,
      call: GrpcCall,
      scope: TokenScope,
      answers: (meant: LeaseStream) => AsyncIterable<T>,
    ): AsyncGenerator<T> {
      const as = {
        name: scope === "logs" ? "ServiceLogsRequest" : "ServiceStatusRequest",
        codec: servicesRequest,
        scope,
      };
      const permitted = await permit(bytes, call, as);
      const services = meant(permitted, scope);
      const admitted = admission.admit({ ...permitted, credentials: credentialsOf(call) });
      // It may be waiting for a client that reads nothing.
      admitted.signal.addEventListener("abort", () => call.end(admitted.signal.reason), { once: true });
      try {
        yield* answers({ ...services, signal: AbortSignal.any([call.signal, admitted.signal]) });
        admitted.signal.throwIfAborted();
      } catch (thrown) {
        throw admitted.signal.aborted ? admitted.signal.reason : thrown;
      } finally {
        admitted.release();
      }
    },
  };
}

type ServicesRequest = Decoded<typeof servicesRequest>;

/** The same as a ServiceLogsRequest. */
const servicesRequest = withFewItems(providerLeaseV1ServiceStatusRequest, leaseServicesNamed);
