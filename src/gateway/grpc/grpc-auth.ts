/** Who makes a gRPC call: by the token of its metadata, raw or as `Bearer <token>`, or by the certificate of its connection. */
import type { TLSSocket } from "node:tls";
import { GrpcRefusal, grpcCodes } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcCall, GrpcMethod } from "../../runtime/grpc/methods.ts";
import { type Authenticator, AuthRefusal, type Credentials, type Identity } from "../auth/identity.ts";
import { nobody } from "../auth/permissions.ts";
import { placeOfSocket } from "../auth/place.ts";
import { presentedCertificates } from "../rest/client-certificates.ts";

/** Answers at once where everything is known already. Throws GrpcRefusal; AKP_CHAIN_* where the chain does not answer. */
export type Identify = (call: Pick<GrpcCall, "headers" | "socket">) => Identity | Promise<Identity>;

export function createIdentify(authenticator: Authenticator): Identify {
  return ({ headers, socket }) => {
    const credentials = credentialsOf({ headers, socket });
    if (credentials.authorization === undefined && credentials.certificates.length === 0) return nobody;
    try {
      const known = authenticator.identify(credentials);
      return known instanceof Promise ? known.catch(refused) : known;
    } catch (thrown) {
      return refused(thrown);
    }
  };
}

/** Who makes the call, as far as the budget for its request is concerned. */
export function accountOf(identify: Identify): NonNullable<GrpcMethod["authenticate"]> {
  return (call) => {
    const known = identify(call);
    return known instanceof Promise ? known.then(({ owner }) => owner) : known.owner;
  };
}

/** None where the connection is gone: nobody is answered there anyway. */
export function credentialsOf({ headers, socket }: Pick<GrpcCall, "headers" | "socket">): Credentials {
  return {
    authorization: socket && bearer(headers.authorization),
    certificates: socket ? presentedCertificates(socket as TLSSocket) : [],
    source: placeOfSocket(socket),
  };
}

/** Throws where it is nobody in particular, or where the credentials open nothing here. */
export function ownerOf(identity: Identity): NonNullable<Identity["owner"]> {
  if (identity.owner === undefined) throw new GrpcRefusal(grpcCodes.Unauthenticated, "unauthorized access");
  checkPermitted(identity.mayUseProvider);
  return identity.owner;
}

export function checkPermitted(isPermitted: boolean): void {
  if (!isPermitted) throw new GrpcRefusal(grpcCodes.PermissionDenied, "unauthorized access");
}

/** Clients of gRPC also send the bare token. */
function bearer(given: string | undefined): string | undefined {
  return given && !/\s/.test(given.trim()) ? `Bearer ${given.trim()}` : given;
}

const codes: Readonly<Record<AuthRefusal["status"], number>> = {
  400: grpcCodes.Unauthenticated,
  401: grpcCodes.Unauthenticated,
  429: grpcCodes.ResourceExhausted,
  500: grpcCodes.Internal,
  503: grpcCodes.Unavailable,
};

function refused(thrown: unknown): never {
  if (thrown instanceof AuthRefusal) throw new GrpcRefusal(codes[thrown.status], thrown.message);
  throw thrown;
}
