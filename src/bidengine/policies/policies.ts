/**
 * What an operator has decided, as data: who is served, how much is sold at most, when we do not bid, and which images and
 * host names are run.
 */
import type { Address } from "../../market/address.ts";

export interface Policies {
  readonly tenants: TenantPolicy | undefined;
  readonly caps: CapPolicy | undefined;
  /** By the beginning of each. */
  readonly maintenance: readonly MaintenanceWindow[];
  /** Every attribute of provider.yaml becomes a demand on the order: only those who ask for it all are served. */
  readonly demandConfiguredAttributes: Switch;
  /** These two are about manifests: what a lease is to run is not known when we bid for it. */
  readonly images: NamePolicy | undefined;
  readonly hostnames: NamePolicy | undefined;
}

export type Switch = "on" | "off" | "dry-run";

/** What a policy with dry-run refuses is recorded and passes. */
export interface Dry {
  readonly dryRun: boolean;
}

export interface TenantPolicy extends Dry {
  /** Where it is there, nobody else is served. */
  readonly allow: ReadonlySet<Address> | undefined;
  readonly refuse: ReadonlySet<Address>;
}

export interface NamePolicy extends Dry {
  /** Where it is there, nothing else is run. */
  readonly allow: readonly NamePattern[] | undefined;
  readonly refuse: readonly NamePattern[];
}

export interface NamePattern {
  readonly pattern: string;
  readonly matches: (name: string) => boolean;
}

/** The most that is sold in all, bids and leases together. What is not named is not bounded. */
export interface CapPolicy extends Dry {
  /** By resource, as `soldWith` of the market counts it. */
  readonly most: ReadonlyMap<string, bigint>;
}

/** No bids from then on; without an end, until the file says otherwise. */
export interface MaintenanceWindow extends Dry {
  readonly fromMs: number;
  readonly untilMs: number | undefined;
}

export const noPolicies: Policies = {
  tenants: undefined,
  caps: undefined,
  maintenance: [],
  demandConfiguredAttributes: "off",
  images: undefined,
  hostnames: undefined,
};
