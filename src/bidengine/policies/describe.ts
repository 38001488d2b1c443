/** Says in sentences what a policy file means, for whoever is about to put it into force. */
import { showResource } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";
import type { CapPolicy, Dry, NamePolicy, Policies, TenantPolicy } from "./policies.ts";

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
