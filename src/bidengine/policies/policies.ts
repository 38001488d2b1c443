/** An operator's decisions as data: tenants, caps, maintenance, images and host names. */
import type { Address } from "../../market/address.ts";
import { showResource } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";

export interface Policies {
  readonly tenants: TenantPolicy | undefined;
  readonly caps: CapPolicy | undefined;
  /** By the beginning of each. */
  readonly maintenance: readonly MaintenanceWindow[];
  /** Every attribute of provider.yaml becomes a demand on the order: only those who ask for it all are served. */
  readonly demandConfiguredAttributes: PolicyMode;
  /** These two are about manifests: what a lease is to run is not known when we bid for it. */
  readonly images: NamePolicy | undefined;
  readonly hostnames: NamePolicy | undefined;
}

export type PolicyMode = "on" | "off" | "dry-run";

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

// Says in sentences what a policy file means, for whoever is about to put it into force.

export function describePolicies(policies: Policies): string[] {
  const { tenants, caps, maintenance, demandConfiguredAttributes, images, hostnames } = policies;
  const sentences = [
    ...(tenants ? describeTenants(tenants).map((said) => said + onlyTold(tenants)) : []),
    ...(images ? describeNames(images, "images are run").map((said) => said + onlyTold(images)) : []),
    ...(hostnames ? describeNames(hostnames, "host names are served").map((said) => said + onlyTold(hostnames)) : []),
    ...(caps ? describeCaps(caps).map((said) => `At most ${said} is sold in all${onlyTold(caps)}`) : []),
    ...maintenance.map((window) => {
      const end = window.untilMs === undefined ? "until further notice" : `until ${formatTime(window.untilMs)}`;
      return `No bids from ${formatTime(window.fromMs)} ${end}${onlyTold(window)}`;
    }),
  ];
  if (demandConfiguredAttributes !== "off") {
    const dryRun = demandConfiguredAttributes === "dry-run";
    sentences.push(`Orders must ask for every attribute of provider.yaml${onlyTold({ dryRun })}`);
  }
  return sentences.length > 0 ? sentences.map((said) => `${said}.`) : ["Nothing is refused."];
}

function onlyTold({ dryRun }: Dry): string {
  return dryRun ? " (dry-run: what this refuses is recorded, and passes)" : "";
}

function describeTenants({ allow, refuse }: TenantPolicy): string[] {
  return [
    ...(allow ? [`Only these tenants are served: ${[...allow].join(", ") || "none"}`] : []),
    ...(refuse.size > 0 ? [`These tenants are refused: ${[...refuse].join(", ")}`] : []),
  ];
}

function describeNames({ allow, refuse }: NamePolicy, what: string): string[] {
  const list = (patterns: NamePolicy["refuse"]) => patterns.map(({ pattern }) => pattern).join(", ") || "none";
  const [thing = ""] = what.split(" are ");
  return [
    ...(allow ? [`Only these ${what}: ${list(allow)}`] : []),
    ...(refuse.length > 0 ? [`These ${thing} are refused: ${list(refuse)}`] : []),
  ];
}

function describeCaps({ most }: CapPolicy): string[] {
  return Array.from(most, ([resource, amount]) => `${showResource(resource, amount)} of ${resource}`);
}
