/** What a token gives, and what may be done with it. */
import type { Address } from "../../market/address.ts";
import type { Identity, LeaseNumbers, Scope } from "./identity.ts";

/** What somebody is given at this provider. */
export type Grant =
  | { readonly access: "none" }
  | { readonly access: "full" }
  | { readonly access: "scoped"; readonly scopes: ReadonlySet<Scope> }
  | { readonly access: "granular"; readonly deployments: readonly DeploymentGrant[] };

/** The same for one deployment; where a number is 0, any is meant. */
export interface DeploymentGrant extends LeaseNumbers {
  readonly scopes: ReadonlySet<Scope>;
  readonly services: ReadonlySet<string>;
}

export const nobody: Identity = {
  ...{ owner: undefined, mayUseProvider: false, untilMs: undefined },
  ...{ mayUseDeployment: () => false, mayUseLease: () => false, servicesOf: () => new Set() },
};

export function identityOf(owner: Address, grant: Grant, untilMs: number): Identity {
  /** The entries of a list are alternatives: one of them must give all that is asked. */
  function gives(scope: Scope | undefined, isMeant: (entry: DeploymentGrant) => boolean): boolean {
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
