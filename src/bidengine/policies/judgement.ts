/** Decisions of the policies on one order or manifest. Pure. */
import type { JsonObject } from "../../bus/topics.ts";
import type { Address } from "../../market/address.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { soldWith } from "../../market/group-totals.ts";
import { showResource } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";
import { compilePattern, type NamePolicy, type Policies } from "./policies.ts";

export interface Judgement {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only reported, not applied. */
  readonly dryRun: boolean;
  readonly evidence?: JsonObject;
  /** Of a no by caps: the order would be too much even if it were the only one. */
  readonly alone?: boolean;
}

export type Judge = ReturnType<typeof judgeBy>;

export function judgeBy(policies: Policies) {
  const { tenants, caps, maintenance, demandConfiguredAttributes, images, hostnames } = policies;
  return {
    bidding(nowMs: number): Judgement {
      const now = maintenance.filter(
        ({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => fromMs <= nowMs && nowMs < untilMs,
      );
      // A window in force goes before one in dry run.
      const window = now.find(({ dryRun }) => !dryRun) ?? now[0];
      if (!window) return yes("no maintenance");
      const { fromMs, untilMs, dryRun } = window;
      const [from, until] = [formatTime(fromMs), untilMs === undefined ? null : formatTime(untilMs)];
      const end = until === null ? "until further notice" : `until ${until}`;
      return { yes: false, reason: `maintenance since ${from}, ${end}`, dryRun, evidence: { from, until } };
    },
    tenant: (owner: string) => (tenants ? judgeTenant(tenants, owner) : yes("every tenant is served")),
    /** `group` carries the offered GPUs, since a cap may name a model. `sold` is what is promised already, by resource. */
    caps: (group: Pick<GroupSpec, "units">, sold: ReadonlyMap<string, bigint>) =>
      caps ? judgeCaps(caps, group, sold) : yes("nothing is capped"),
    configuredAttributes: demandConfiguredAttributes,
    image: (image: string) => (images ? judgeImage(images, image) : yes("every image is run")),
    hostname: (host: string) => (hostnames ? judgeHostname(hostnames, host) : yes("every host name is served")),
  };
}

function yes(reason: string): Judgement {
  return { yes: true, reason, dryRun: false };
}

type InForce<Name extends "tenants" | "caps"> = NonNullable<Policies[Name]>;

/** A tenant in both lists is rejected. */
function judgeTenant({ allow, refuse, dryRun }: InForce<"tenants">, owner: string): Judgement {
  const tenant = owner.toLowerCase() as Address;
  const no = (reason: string) => ({ yes: false, reason, dryRun, evidence: { owner } });
  if (refuse.has(tenant)) return no("the tenant is rejected by the policy");
  if (allow && !allow.has(tenant)) return no("the tenant is not among those that the policy allows");
  return yes(allow ? "the tenant is allowed by the policy" : "the tenant is not rejected by the policy");
}

function judgeCaps(
  { most: caps, dryRun }: InForce<"caps">,
  { units }: Pick<GroupSpec, "units">,
  sold: ReadonlyMap<string, bigint>,
): Judgement {
  const evidence: Record<string, { wanted: string; sold: string; most: string }> = {};
  let alone = false;
  const wanted = soldWith(units);
  for (const [resource, most] of caps) {
    const show = (amount: bigint) => showResource(resource, amount);
    const [more, before] = [wanted.get(resource) ?? 0n, sold.get(resource) ?? 0n];
    // A cap concerns only groups that request some of it.
    if (more === 0n || before + more <= most) continue;
    evidence[resource] = { wanted: show(more), sold: show(before), most: show(most) };
    alone ||= more > most;
  }
  const above = Object.entries(evidence).map(
    ([resource, { wanted, sold, most }]) => `${wanted} of ${resource} (at most ${most}, of which ${sold} is sold)`,
  );
  if (above.length === 0) return yes("it is within the caps");
  return { yes: false, reason: `the policy offers less than ${above.join(", ")}`, dryRun, evidence, alone };
}

/** By its name as written, its full and its shortest name, and each of them without the version. */
function judgeImage({ allow, refuse, dryRun }: NamePolicy, image: string): Judgement {
  const names = namesOf(image);
  const among = (patterns: NamePolicy["refuse"]) => patterns.some(({ matches }) => names.some(matches));
  const no = (reason: string) => ({ yes: false, reason: `image "${image}" is ${reason}`, dryRun, evidence: { image } });
  if (among(refuse)) return no("rejected by the policy");
  if (allow && !among(allow)) return no("not among those that the policy allows");
  return yes("the image is allowed by the policy");
}

/** Host names of Docker Hub, which is also the registry of a name without one. */
const hub = "docker.io";
const hubNames = [hub, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];

function namesOf(image: string): string[] {
  const [first = "", ...rest] = image.split("/");
  const hasRegistry = rest.length > 0 && isRegistry(first);
  const registry = hasRegistry ? first.toLowerCase().replace(/:443$/, "") : hub;
  const path = hasRegistry ? rest.join("/") : image;
  const forms = hubNames.includes(registry) ? hubForms(path) : [`${registry}/${path}`];
  return [...new Set([image, ...forms])].flatMap((name) => [name, withoutVersion(name)]);
}

/** A name without folder is in "library". */
function hubForms(path: string): string[] {
  const whole = path.includes("/") ? path : `library/${path}`;
  const short = whole.replace(/^library\//i, "");
  // Without its registry, a folder with a dot in it would be one.
  const [folder = ""] = whole.split("/");
  return isRegistry(folder) ? [`${hub}/${whole}`] : [`${hub}/${whole}`, `${hub}/${short}`, whole, short];
}

/** Distinguishes a registry from a folder as containerd does. */
function isRegistry(part: string): boolean {
  return /[.:A-Z]/.test(part) || part === "localhost";
}

function withoutVersion(name: string): string {
  const [repository = ""] = name.split("@", 1);
  const tagAt = repository.lastIndexOf(":");
  return tagAt > repository.lastIndexOf("/") ? repository.slice(0, tagAt) : repository;
}

/** The reason is recorded from the Go provider. */
function judgeHostname({ allow, refuse, dryRun }: NamePolicy, host: string): Judgement {
  const isRejected = refuse.some(({ pattern, matches }) => matches(host) || covers(host, pattern));
  if (!isRejected && (!allow || allow.some(({ matches }) => matches(host))))
    return yes("the host name is allowed by the policy");
  return { yes: false, reason: `"${host}" is blocked by this provider`, dryRun, evidence: { host } };
}

/** A wildcard host covers a rejected name: the tenant chooses what stands for the star. */
function covers(host: string, pattern: string): boolean {
  if (!host.startsWith("*.")) return false;
  const domain = host.slice(1);
  const lastStar = pattern.lastIndexOf("*");
  if (pattern.toLowerCase().endsWith(domain)) return true;
  return lastStar >= 0 && compilePattern(pattern.slice(lastStar))?.(domain) === true;
}
