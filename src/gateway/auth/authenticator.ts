import { hash } from "node:crypto";
import type { Clock } from "../../runtime/clock.ts";
import { createRecent } from "../../runtime/recent.ts";
import type { ChainCertificates } from "./chain-certificates.ts";
import {
  type ClientCertificate,
  checkValidity,
  readClientCertificate,
  tooManyCertificates,
  unknownCertificate,
} from "./client-certificate.ts";
import { type Authenticator, AuthRefusal, type Identity } from "./identity.ts";
import { identityOf, nobody } from "./permissions.ts";
import { bearerToken } from "./token.ts";
import { createTokenAuth, type TokenAuthDeps } from "./token-auth.ts";

export function createAuthenticator(deps: TokenAuthDeps & CertificateAuthDeps): Authenticator {
  const byToken = createTokenAuth(deps);
  const byCertificates = createCertificateAuth(deps);
  return {
    identify({ authorization, certificates, source }) {
      const token = bearerToken(authorization);
      if (certificates.length === 0) return token === undefined ? nobody : byToken(token, source);
      if (token === undefined) return byCertificates(certificates, source);
      throw new AuthRefusal(400, "auth: ambiguous authentication. may not use mTLS and JWT at the same time");
    },
  };
}

// Who a client's certificate is from. The chain's word counts for every request: a connection outlives a revocation.

/** One or two per tenant who is connected now. Some 2 KB each. */
const readCertificates = 1_024;

interface CertificateAuthDeps {
  readonly certificates: ChainCertificates;
  readonly clock: Clock;
}

type IdentifyCertificates = (presented: readonly Uint8Array[], source: string) => Identity | Promise<Identity>;

interface Read {
  readonly certificate: ClientCertificate;
  readonly identity: Identity;
}

function createCertificateAuth({ certificates, clock }: CertificateAuthDeps): IdentifyCertificates {
  const recent = createRecent<Read>({ most: readCertificates });

  function read(der: Uint8Array): Read {
    const digest = hash("sha256", der, "base64");
    const known = recent.get(digest);
    if (known) return known;
    const certificate = readClientCertificate(der);
    const identity = identityOf(certificate.owner, { access: "full" }, certificate.untilMs);
    recent.set(digest, { certificate, identity });
    return { certificate, identity };
  }

  return ([der, ...more], source) => {
    if (!der || more.length > 0) throw tooManyCertificates();
    const { certificate, identity } = read(der);
    checkValidity(certificate, clock.now());
    const onChain = certificates.certificateOf(certificate.owner, certificate.serial, source);
    return onChain instanceof Promise ? onChain.then((found) => compare(found)) : compare(onChain);

    // The same bytes have the same key, and the handshake proved that the client has it.
    function compare(found: Uint8Array | undefined): Identity {
      if (!found || Buffer.compare(found, der as Uint8Array) !== 0) throw unknownCertificate();
      return identity;
    }
  };
}
