/** What is declared of a host name: which Service it leads to (ProviderHost), and how requests are treated (Manifest). */
import type { KubeObject } from "../../kube/kube.ts";
import { providerHostName, readProviderHost } from "../../kube/objects/provider-host.ts";
import { readManifestResource } from "../../kube/objects/read-manifest-resource.ts";
import { goQuote } from "../../market/go-json.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import {
  type HttpOptions,
  mostBodyBytes,
  mostProxyBufferBytes,
  mostTimeoutMs,
  nextCaseWords,
} from "../../market/manifest.ts";
import { parseTime } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { hostCondition } from "./host-states.ts";

export type DeclaredHost = ReturnType<typeof projectHost>;

export interface DeclaredRoute {
  readonly host: string;
  readonly lease: LeaseId;
  readonly namespace: string;
  readonly service: string;
  readonly externalPort: number;
}

export function projectHost(object: KubeObject) {
  const { name, creationTimestamp = "", generation = 1 } = object.metadata;
  const read = readProviderHost(object);
  // The name of the object follows from the host: any other object that claims the same host is invalid.
  const isOwn = read !== undefined && providerHostName(read.host) === name;
  return {
    /** The host name; of an object that declares none that is its own, the name of the object. */
    key: isOwn ? read.host : name,
    name,
    createdAtMs: parseTime(creationTimestamp) || 0,
    /** Its spec was changed after it was made, so its lease may be another one. */
    isChanged: generation > 1,
    /** Undefined where the spec is invalid. */
    target: isOwn && isPort(read.externalPort) ? { ...read, namespace: leaseNamespace(read.lease) } : undefined,
  };
}

/** The gRPC messages that carry all names cannot encode any other number. */
function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port <= 65_535;
}

export function serviceKey({ namespace, service }: Pick<DeclaredRoute, "namespace" | "service">): string {
  return `${namespace}/${service}`;
}

/** In bytes and milliseconds; a `nextTimeout` of 0 is no limit. */
export type RouteOptions = HttpOptions & { readonly nextCases: readonly string[] };

export interface Directive extends DeclaredRoute {
  readonly options: RouteOptions;
  /** Requested options that no controller is configured with. */
  readonly unsupported: readonly Condition[];
  /** The longest of all ports of the service, for controllers that have one time-out per Service. */
  readonly longestReadMs: number;
}

/** Where a manifest sets nothing. */
export const defaultOptions: RouteOptions = {
  maxBodySize: 1_048_576,
  readTimeout: 60_000,
  sendTimeout: 60_000,
  nextTries: 3,
  nextTimeout: 60_000,
  nextCases: ["error", "timeout"],
};

export type WatchedManifest = ReturnType<typeof projectManifest>;

/** The ports of a manifest that are open to the world. */
export function projectManifest(object: KubeObject) {
  const manifest = readManifestResource(object);
  const services = manifest?.group.services.filter(({ count }) => count !== 0) ?? [];
  return {
    /** Of its lease; undefined where the manifest cannot be read. */
    provider: manifest?.lease.provider,
    services: services.map(({ name, expose }) => ({
      name,
      exposes: expose
        .filter(({ global }) => global)
        .map(({ port, externalPort, httpOptions }) => ({
          externalPort: externalPort || port,
          ...boundedOptions(optionsOf(httpOptions)),
        })),
    })),
  };
}

/** The most that a controller is configured with. Each try is one more request. */
const mostOf = {
  proxyBufferSize: mostProxyBufferBytes,
  maxBodySize: mostBodyBytes,
  readTimeout: mostTimeoutMs,
  sendTimeout: mostTimeoutMs,
  nextTries: 10,
} as const;

/** "max_body_size", as tenants write it. */
export function optionWord(option: keyof RouteOptions): string {
  return option.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** These values enter a configuration that tenants share: an unknown word breaks NGINX's, a semicolon extends it. */
function boundedOptions(given: RouteOptions): Pick<Directive, "options" | "unsupported"> {
  // A manifest may repeat one tens of thousands of times.
  const nextCases = [...new Set(given.nextCases)];
  const unsupported: string[] = [];
  const unknown = nextCases.find((word) => !nextCaseWords.includes(word));
  if (unknown !== undefined)
    unsupported.push(`next_cases ${goQuote(unknown.slice(0, 40))}: it is none of ${nextCaseWords.join(", ")}`);
  const bounds: { -readonly [Option in keyof typeof mostOf]?: number } = {};
  for (const [option, most] of Object.entries(mostOf) as [keyof typeof mostOf, number][]) {
    const [word, requested] = [optionWord(option), given[option] ?? 0];
    // NGINX reads 0 tries as no limit.
    const isEndless = option === "nextTries" && requested === 0;
    if (requested <= most && !isEndless) continue;
    bounds[option] = most;
    unsupported.push(
      isEndless ? `${word} 0: it has no end, and ${most} is the most` : `${word} ${requested}: ${most} is the most`,
    );
  }
  return {
    options: { ...given, nextCases: nextCases.filter((word) => nextCaseWords.includes(word)), ...bounds },
    unsupported: unsupported.map((text) => hostCondition("OptionNotHonoured", text)),
  };
}

/** The network's operator reads no other option where the size is 0. */
function optionsOf({ nextCases = [], ...given }: HttpOptions): RouteOptions {
  const { proxyBufferSize } = given;
  if (given.maxBodySize !== 0) return { ...given, nextCases };
  return proxyBufferSize === undefined ? defaultOptions : { ...defaultOptions, proxyBufferSize };
}

export function directiveOf(route: DeclaredRoute, manifest: WatchedManifest | undefined): Directive | Condition {
  const { lease, service: name, externalPort } = route;
  const inManifest = `manifest for ${formatLeaseId(lease)}`;
  if (!manifest) return hostCondition("ManifestMissing", `resource not found: ${inManifest}`);
  const service = manifest.services.find((each) => each.name === name);
  const expose = service?.exposes.find((each) => each.externalPort === externalPort);
  if (!service || !expose) {
    const what = `${service ? `port ${externalPort} of ` : ""}service ${name}`;
    return hostCondition("ServiceMissing", `resource not found: ${what} in the ${inManifest}`);
  }
  const longestReadMs = Math.max(...service.exposes.map(({ options }) => options.readTimeout));
  const { options, unsupported } = expose;
  return { ...route, options, unsupported, longestReadMs };
}

export function isDirective(found: Directive | Condition): found is Directive {
  return "options" in found;
}
