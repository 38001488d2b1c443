/** Puts the issuer together from what the operator has set. Imported only where certificates are to be issued. */
import type { Boundary } from "../../runtime/boundary.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
import { type AuthorityOptions, createAuthority } from "./authority.ts";
import { type CertificateIssuer, createCertificateIssuer } from "./certificate-issuer.ts";
import { openIssuerStorage } from "./issuer-storage.ts";

export interface IssuerOptions extends AuthorityOptions {
  /** Where account and certificates are kept. */
  readonly dir: string;
}

interface IssuerGround {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly boundary: Boundary;
}

export function openIssuer(options: IssuerOptions, host: string, ground: IssuerGround): CertificateIssuer {
  const { clock, random, log, boundary } = ground;
  const storage = openIssuerStorage({ ...options, host }, { boundary, clock });
  const authority = createAuthority(options, { host, storage, clock, log });
  return createCertificateIssuer({ ...options, host, storage, authority, clock, random, log });
}
