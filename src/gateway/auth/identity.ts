/** Who is asking, and what they may do: the words that auth and routes have in common. */
import type { Address } from "../../market/address.ts";

/** What a token may be limited to. Others that a token names are ignored: they open nothing here. */
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
  /** Every certificate that the client presented in the handshake, as DER; none where it did not, or was not asked to. */
  readonly certificates: readonly Uint8Array[];
  /** The place that it came from (`placeOfSocket`): clients without a lease that have the same one share a limit. */
  readonly source: string;
}

export interface LeaseNumbers {
  readonly dseq: bigint;
  readonly gseq: number;
  readonly oseq: number;
}

/** Somebody whose credentials were found good just now. It holds for one request and is not kept: the next one may be refused. */
export interface CallerIdentity {
  /** Undefined: nobody in particular, who may see what is public. */
  readonly owner: Address | undefined;
  /** Whether there is anything at this provider that the credentials are good for. */
  readonly mayUseProvider: boolean;
  /** Without a scope: whether it may be used for anything of that deployment. */
  mayUseDeployment(dseq: bigint, scope?: TokenScope): boolean;
  mayUseLease(lease: LeaseNumbers, scope?: TokenScope): boolean;
  /** The services of the lease that the scope is given for; undefined: all of them. */
  servicesOf(lease: LeaseNumbers, scope: TokenScope): ReadonlySet<string> | undefined;
  /** When the credentials end, on the wall clock; streams end with them. Undefined where nothing says so. */
  readonly untilMs: number | undefined;
}

/** At once where everything is known. Throws AuthRefusal; AKP_CHAIN_* where the chain has to be asked and does not answer. */
export interface Authenticator {
  identify(credentials: CallerCredentials): CallerIdentity | Promise<CallerIdentity>;
}

/** A refusal in the network's words; sent as `{"message": …}`. */
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

/** The same for one deployment; where a number is 0, any is meant. */
export interface DeploymentGrant extends LeaseNumbers {
  readonly scopes: ReadonlySet<TokenScope>;
  readonly services: ReadonlySet<string>;
}

export const anonymous: CallerIdentity = {
  ...{ owner: undefined, mayUseProvider: false, untilMs: undefined },
  ...{ mayUseDeployment: () => false, mayUseLease: () => false, servicesOf: () => new Set() },
};

export function identityOf(owner: Address, grant: Grant, untilMs: number): CallerIdentity {
  /** The entries of a list are alternatives: one of them must give all that is asked. */
  function gives(scope: TokenScope | undefined, isMeant: (entry: DeploymentGrant) => boolean): boolean {
    if (grant.access === "none") return false;
    if (grant.access === "full") return true;
    if (grant.access === "scoped") return scope === undefined || grant.scopes.has(scope);
    return grant.deployments.some((entry) => isMeant(entry) && (scope === undefined || entry.scopes.has(scope)));
  }

  return {
    ...{ owner, untilMs, mayUseProvider: grant.access !== "none" },
    mayUseDeployment: (dseq, scope) => gives(scope, (entry) => entry.dseq === dseq),
    mayUseLease: (lease, scope) => gives(scope, (entry) => isFor(entry, lease)),
    servicesOf(lease, scope) {
      if (grant.access !== "granular") return gives(scope, () => false) ? undefined : new Set();
      const entries = grant.deployments.filter((entry) => isFor(entry, lease) && entry.scopes.has(scope));
      return new Set(entries.flatMap(({ services }) => [...services]));
    },
  };
}

function isFor(entry: LeaseNumbers, { dseq, gseq, oseq }: LeaseNumbers): boolean {
  return entry.dseq === dseq && [0, gseq].includes(entry.gseq) && [0, oseq].includes(entry.oseq);
}
