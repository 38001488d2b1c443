/** What the policies say about one order or manifest. Pure: the same one at the same time is always judged the same. */
import type { JsonObject } from "../../bus/topics.ts";
import type { Address } from "../../market/address.ts";
import { compileGlob } from "../../market/glob.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { soldWith } from "../../market/group-totals.ts";
import { showResource } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";
import type { CapPolicy, NamePolicy, Policies, TenantPolicy } from "./policies.ts";

export interface Judgement {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only told, not done. */
  readonly dryRun: boolean;
  readonly evidence?: JsonObject;
}

export interface CapJudgement extends Judgement {
  /** Of a no: the order would be too much even if it were the only one. */
  readonly alone?: boolean;
}

export interface Judge {
  bidding(nowMs: number): Judgement;
  tenant(owner: string): Judgement;
  /** `group` carries the offered GPUs, since a cap may name a model. `sold` is what is promised already, by resource. */
  caps(group: Pick<GroupSpec, "units">, sold: ReadonlyMap<string, bigint>): CapJudgement;
  readonly configuredAttributes: Policies["demandConfiguredAttributes"];
  image(image: string): Judgement;
  hostname(host: string): Judgement;
}

export function judgeBy(policies: Policies): Judge {
  const { tenants, caps, maintenance, demandConfiguredAttributes, images, hostnames } = policies;
  return {
    bidding(nowMs) {
      const now = maintenance.filter(
        ({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => fromMs <= nowMs && nowMs < untilMs,
      );
      // One that really holds goes before one that is only tried.
      const window = now.find(({ dryRun }) => !dryRun) ?? now[0];
      if (!window) return yes("no maintenance");
      const { fromMs, untilMs, dryRun } = window;
      const end = untilMs === undefined ? "until further notice" : `until ${formatTime(untilMs)}`;
      const evidence = { from: formatTime(fromMs), until: untilMs === undefined ? null : formatTime(untilMs) };
      return { yes: false, reason: `maintenance since ${formatTime(fromMs)}, ${end}`, dryRun, evidence };
    },
    tenant: (owner) => (tenants ? judgeTenant(tenants, owner) : yes("every tenant is served")),
    caps: (group, sold) => (caps ? judgeCaps(caps, group, sold) : yes("nothing is capped")),
    configuredAttributes: demandConfiguredAttributes,
    image: (image) => (images ? judgeImage(images, image) : yes("every image is run")),
    hostname: (host) => (hostnames ? judgeHostname(hostnames, host) : yes("every host name is served")),
  };
}

function yes(reason: string): Judgement {
  return { yes: true, reason, dryRun: false };
}

/** A tenant that stands in both lists is refused: whoever adds one to `refuse` means it. */
function judgeTenant({ allow, refuse, dryRun }: TenantPolicy, owner: string): Judgement {
  const tenant = owner.toLowerCase() as Address;
  if (refuse.has(tenant))
    return { yes: false, reason: "the tenant is refused by the policy", dryRun, evidence: { owner } };
  if (allow && !allow.has(tenant)) {
    return { yes: false, reason: "the tenant is not among those that the policy allows", dryRun, evidence: { owner } };
  }
  return yes(allow ? "the tenant is allowed by the policy" : "the tenant is not refused by the policy");
}

function judgeCaps({ most: caps, dryRun }: CapPolicy, { units }: Pick<GroupSpec, "units">, sold: Sold): CapJudgement {
  const evidence: Record<string, { wanted: string; sold: string; most: string }> = {};
  let alone = false;
  const wanted = soldWith(units);
  for (const [resource, most] of caps) {
    const show = (amount: bigint) => showResource(resource, amount);
    const [more, before] = [wanted.get(resource) ?? 0n, sold.get(resource) ?? 0n];
    // Whoever asks for none of it does not care.
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

type Sold = ReadonlyMap<string, bigint>;

// Which images and host names an operator allows or refuses, by patterns: `*` is any text, `?` one sign. Case is nothing.

/** Undefined where it cannot be read. */
export function compilePattern(pattern: string): ((name: string) => boolean) | undefined {
  // Here a star may well stand for a slash, and the market's globs let it stand for anything else.
  const flat = (text: string) => text.toLowerCase().replaceAll("/", "\n");
  const matches = compileGlob(flat(pattern));
  return matches && ((name) => matches(flat(name)));
}

/** By its name as written, by its full and its shortest name, and by each of them without what says which version: a pattern without one means all of them. */
export function judgeImage({ allow, refuse, dryRun }: NamePolicy, image: string): Judgement {
  const names = namesOf(image);
  const among = (patterns: NamePolicy["refuse"]) => patterns.some(({ matches }) => names.some(matches));
  const evidence = { image };
  if (among(refuse)) return { yes: false, reason: `image "${image}" is refused by the policy`, dryRun, evidence };
  if (allow && !among(allow)) {
    const reason = `image "${image}" is not among those that the policy allows`;
    return { yes: false, reason, dryRun, evidence };
  }
  return { yes: true, reason: "the image is allowed by the policy", dryRun: false };
}

/** Under all of these Docker Hub answers, and a name without a registry is one of its own. */
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

/** What has no folder is in "library". */
function hubForms(path: string): string[] {
  const whole = path.includes("/") ? path : `library/${path}`;
  const short = whole.replace(/^library\//i, "");
  // Without its registry, a folder with a dot in it would be one.
  const [folder = ""] = whole.split("/");
  return isRegistry(folder) ? [`${hub}/${whole}`] : [`${hub}/${whole}`, `${hub}/${short}`, whole, short];
}

/** As containerd tells a registry from a folder. */
function isRegistry(part: string): boolean {
  return /[.:A-Z]/.test(part) || part === "localhost";
}

function withoutVersion(name: string): string {
  const [repository = ""] = name.split("@", 1);
  const tagAt = repository.lastIndexOf(":");
  return tagAt > repository.lastIndexOf("/") ? repository.slice(0, tagAt) : repository;
}

/** The words are the network's for a name that is blocked. */
export function judgeHostname({ allow, refuse, dryRun }: NamePolicy, host: string): Judgement {
  const evidence = { host };
  const isRefused = refuse.some(({ pattern, matches }) => matches(host) || covers(host, pattern));
  if (!isRefused && (!allow || allow.some(({ matches }) => matches(host)))) {
    return { yes: true, reason: "the host name is allowed by the policy", dryRun: false };
  }
  return { yes: false, reason: `"${host}" is blocked by this provider`, dryRun, evidence };
}

/** A tenant who has a whole domain has the refused name in it: whatever stands for the star is his to choose. */
function covers(host: string, pattern: string): boolean {
  if (!host.startsWith("*.")) return false;
  const domain = host.slice(1);
  const lastStar = pattern.lastIndexOf("*");
  if (pattern.toLowerCase().endsWith(domain)) return true;
  return lastStar >= 0 && compilePattern(pattern.slice(lastStar))?.(domain) === true;
}
