/** Who the caller is and what it may do. */
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";

/** What a token may be limited to. Other scopes that a token names are ignored. */
export const scopes = [
  "send-manifest",
  "get-manifest",
  "logs",
  "shell",
  "events",
  "status",
  "restart",
  "hostname-migrate",
  "ip-migrate",
  "attestation",
] as const;

export type TokenScope = (typeof scopes)[number];

export interface CallerCredentials {
  readonly authorization: string | undefined;
  /** The certificates that the client presented in the handshake, as DER. */
  readonly certificates: readonly Uint8Array[];
  /** Rate limit key of the client (`rateLimitKeyOf`), which clients without a lease share. */
  readonly source: string;
}

export type LeaseNumbers = Pick<LeaseId, "dseq" | "gseq" | "oseq">;

/** Valid for one request only: the credentials of the next one are checked again. */
export interface CallerIdentity {
  /** Undefined: anonymous. */
  readonly owner: Address | undefined;
  /** Whether the credentials permit anything at this provider. */
  readonly mayUseProvider: boolean;
  /** Without a scope: whether they permit anything of that deployment. */
  mayUseDeployment(dseq: bigint, scope?: TokenScope): boolean;
  mayUseLease(lease: LeaseNumbers, scope?: TokenScope): boolean;
  /** The services of the lease for which the scope is granted; undefined: all. */
  servicesOf(lease: LeaseNumbers, scope: TokenScope): ReadonlySet<string> | undefined;
  /** When the credentials expire, and streams with them. */
  readonly untilMs: number | undefined;
}

/** At once where everything is cached. Throws AuthError, or AKP_CHAIN_* where the chain does not answer. */
export interface Authenticator {
  identify(credentials: CallerCredentials): CallerIdentity | Promise<CallerIdentity>;
}

/** In the words of the Go provider; sent as `{"message": …}`. */
export class AuthError extends Error {
  override readonly name = "AuthRefusal";
  readonly status: 400 | 401 | 429 | 500 | 503;

  constructor(status: AuthError["status"], message: string) {
    super(message);
    this.status = status;
  }
}

export function checkAllowed(isAllowed: boolean): void {
  if (!isAllowed) throw new AuthError(401, "unauthorized access");
}

export type Grant =
  | { readonly access: "none" }
  | { readonly access: "full" }
  | { readonly access: "scoped"; readonly scopes: ReadonlySet<TokenScope> }
  | { readonly access: "granular"; readonly deployments: readonly DeploymentGrant[] };

/** For one deployment; a number of 0 is a wildcard. */
export interface DeploymentGrant extends LeaseNumbers {
  readonly scopes: ReadonlySet<TokenScope>;
  readonly services: ReadonlySet<string>;
}

export const anonymous: CallerIdentity = {
  ...{ owner: undefined, mayUseProvider: false, untilMs: undefined },
  ...{ mayUseDeployment: () => false, mayUseLease: () => false, servicesOf: () => new Set() },
};

export function identityOf(owner: Address, grant: Grant, untilMs: number): CallerIdentity {
  /** Entries are alternatives: one of them must match in full. */
  function grants(scope: TokenScope | undefined, isFor: (entry: DeploymentGrant) => boolean): boolean {
    if (grant.access === "none") return false;
    if (grant.access === "full") return true;
    if (grant.access === "scoped") return scope === undefined || grant.scopes.has(scope);
    return grant.deployments.some((entry) => isFor(entry) && (scope === undefined || entry.scopes.has(scope)));
  }

  return {
    ...{ owner, untilMs, mayUseProvider: grant.access !== "none" },
    mayUseDeployment: (dseq, scope) => grants(scope, (entry) => entry.dseq === dseq),
    mayUseLease: (lease, scope) => grants(scope, (entry) => covers(entry, lease)),
    servicesOf(lease, scope) {
      if (grant.access !== "granular") return grants(scope, () => false) ? undefined : new Set();
      const entries = grant.deployments.filter((entry) => covers(entry, lease) && entry.scopes.has(scope));
      return new Set(entries.flatMap(({ services }) => [...services]));
    },
  };
}

function covers(entry: LeaseNumbers, { dseq, gseq, oseq }: LeaseNumbers): boolean {
  return entry.dseq === dseq && [0, gseq].includes(entry.gseq) && [0, oseq].includes(entry.oseq);
}
