/** What a host name is to lead to, and how: taken from the manifest of its lease. */
import type { KubeObject } from "../../kube/kube.ts";
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import { goQuote } from "../../market/go-json.ts";
import { formatLeaseId } from "../../market/ids.ts";
import {
  type HttpOptions,
  mostBodyBytes,
  mostProxyBufferBytes,
  mostTimeoutMs,
  nextCaseWords,
} from "../../market/manifest.ts";
import { type Condition, condition } from "./condition.ts";
import type { DeclaredRoute } from "./declared-host.ts";

/** How requests are to be treated, in the network's terms. */
export interface RouteOptions {
  readonly maxBodyBytes: number;
  readonly readTimeoutMs: number;
  readonly sendTimeoutMs: number;
  /** How many workloads are tried for one request, and for how long; 0 for as long as it takes. */
  readonly nextTries: number;
  readonly nextTimeoutMs: number;
  /** After what another one is tried: "error", "timeout", "502"; "off" for after nothing. */
  readonly nextCases: readonly string[];
  /** Of the buffer for the headers of an answer, where the tenant asked for one. */
  readonly proxyBufferBytes: number | undefined;
}

export interface Directive extends DeclaredRoute {
  readonly options: RouteOptions;
  /** What was asked for that no controller is told. */
  readonly unheeded: readonly Condition[];
  /** The longest that any port of the same service may take: where a controller has one time-out for a whole Service. */
  readonly longestReadMs: number;
}

/** What holds where a manifest says nothing. */
export const defaultOptions: RouteOptions = {
  maxBodyBytes: 1_048_576,
  readTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  nextTries: 3,
  nextTimeoutMs: 60_000,
  nextCases: ["error", "timeout"],
  proxyBufferBytes: undefined,
};

/** What is kept of a manifest: the ports that are open to the world. */
export interface WatchedManifest {
  /** Of its lease; undefined where it does not say. */
  readonly provider: string | undefined;
  readonly services: readonly { readonly name: string; readonly exposes: readonly GlobalExpose[] }[];
}

interface GlobalExpose extends Pick<Directive, "options" | "unheeded"> {
  readonly externalPort: number;
}

export function projectManifest(object: KubeObject): WatchedManifest {
  const manifest = readManifestResource(object);
  const services = manifest?.group.services ?? [];
  return {
    provider: manifest?.lease.provider,
    services: services
      .filter(({ count }) => count !== 0)
      .map(({ name, expose }) => ({
        name,
        exposes: expose
          .filter(({ global }) => global)
          .map(({ port, externalPort, httpOptions }) => ({
            externalPort: externalPort || port,
            ...heeded(optionsOf(httpOptions)),
          })),
      })),
  };
}

/** The most of each that a controller is told. An SDL may ask for any number of tries; each of them is a request more. */
const mostOf = {
  proxyBufferBytes: ["proxy_buffer_size", mostProxyBufferBytes],
  maxBodyBytes: ["max_body_size", mostBodyBytes],
  readTimeoutMs: ["read_timeout", mostTimeoutMs],
  sendTimeoutMs: ["send_timeout", mostTimeoutMs],
  nextTries: ["next_tries", 10],
} as const;

/**
 * A manifest is the tenant's own, and these become parts of the configuration that all tenants share: a word that NGINX does
 * not know breaks it, one with a semicolon extends it, a buffer of gigabytes for every connection fills the controller, and
 * tries without end keep it busy.
 */
function heeded(given: RouteOptions): Pick<Directive, "options" | "unheeded"> {
  // A manifest has room for tens of thousands of the same.
  const nextCases = [...new Set(given.nextCases)];
  const odd = nextCases.find((word) => !nextCaseWords.includes(word));
  const unheeded =
    odd === undefined ? [] : [`next_cases ${goQuote(odd.slice(0, 40))}: it is none of ${nextCaseWords.join(", ")}`];
  const bounds: { -readonly [Option in keyof typeof mostOf]?: number } = {};
  for (const [option, [word, most]] of Object.entries(mostOf) as [keyof typeof mostOf, readonly [string, number]][]) {
    const asked = given[option] ?? 0;
    if (asked <= most) continue;
    bounds[option] = most;
    unheeded.push(`${word} ${asked}: ${most} is the most`);
  }
  // To NGINX that is no limit.
  if (given.nextTries === 0) {
    const [word, most] = mostOf.nextTries;
    bounds.nextTries = most;
    unheeded.push(`${word} 0: it has no end, and ${most} is the most`);
  }
  return {
    options: { ...given, nextCases: nextCases.filter((word) => nextCaseWords.includes(word)), ...bounds },
    unheeded: unheeded.map((text) => condition("OptionNotHonoured", text)),
  };
}

/** As the network does: where no size is given, nothing is. */
function optionsOf(given: HttpOptions): RouteOptions {
  if (given.maxBodySize === 0) return { ...defaultOptions, proxyBufferBytes: given.proxyBufferSize };
  return {
    maxBodyBytes: given.maxBodySize,
    readTimeoutMs: given.readTimeout,
    sendTimeoutMs: given.sendTimeout,
    nextTries: given.nextTries,
    nextTimeoutMs: given.nextTimeout,
    nextCases: given.nextCases ?? [],
    proxyBufferBytes: given.proxyBufferSize,
  };
}

/** What the manifest says of it, or what is missing. */
export function directiveOf(route: DeclaredRoute, manifest: WatchedManifest | undefined): Directive | Missing {
  const { lease, service: name, externalPort } = route;
  if (!manifest) return missing("ManifestMissing", `manifest for ${formatLeaseId(lease)}`);
  const service = manifest.services.find((each) => each.name === name);
  if (!service) return missing("ServiceMissing", `service ${name} in the manifest for ${formatLeaseId(lease)}`);
  const expose = service.exposes.find((each) => each.externalPort === externalPort);
  if (!expose)
    return missing(
      "ServiceMissing",
      `port ${externalPort} of service ${name} in the manifest for ${formatLeaseId(lease)}`,
    );
  const longestReadMs = Math.max(...service.exposes.map(({ options }) => options.readTimeoutMs));
  const { options, unheeded } = expose;
  return { ...route, options, unheeded, longestReadMs };
}

interface Missing {
  readonly missing: Condition;
}

export function isMissing(found: Directive | Missing): found is Missing {
  return "missing" in found;
}

function missing(type: "ManifestMissing" | "ServiceMissing", what: string): Missing {
  return { missing: condition(type, `resource not found: ${what}`) };
}
