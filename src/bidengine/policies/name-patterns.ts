/** Which images and host names an operator allows or refuses, by patterns: `*` is any text, `?` one sign. Case is nothing. */
import { compileGlob } from "../../market/glob.ts";
import type { Judgement } from "./judgement.ts";
import type { NamePolicy } from "./policies.ts";

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
