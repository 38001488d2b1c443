/** Finds out who is asking: by a token, or by the certificate of the connection, or nobody in particular. */
import { type CertificateAuthDeps, createCertificateAuth } from "./certificate-auth.ts";
import { type Authenticator, AuthRefusal } from "./identity.ts";
import { nobody } from "./permissions.ts";
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
