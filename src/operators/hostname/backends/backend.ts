/** Turns a host name into objects that an ingress controller understands. One back end is in force, by the settings; all are pure. */
import { createHash } from "node:crypto";
import { type Kind, kinds, resourceOf } from "../../../kube/kinds.ts";
import { idLabels } from "../../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import { providerHostName } from "../../../kube/objects/provider-host.ts";
import { base32Hex } from "../../../market/lease-namespace.ts";
import type { Condition } from "../../../runtime/condition.ts";
import { type Directive, defaultOptions, optionWord, type RouteOptions } from "../directive.ts";
import { hostCondition } from "../host-states.ts";

export interface RouteBackend {
  readonly name: string;
  readonly kind: Kind;
  /** Every kind that it makes objects of. */
  readonly uses: readonly Kind[];
  /** `isServed`: whether the cluster has a kind of the controller. */
  build(directive: Directive, isServed: (kind: Kind) => boolean): RouteObjects;
}

export interface RouteObjects {
  /** What the route refers to; created before it and removed after it. */
  readonly parts: readonly DesiredObject[];
  readonly route: DesiredObject;
  /** What refers to the route; without them it works with the controller's defaults. */
  readonly policies: readonly DesiredObject[];
  readonly unhonoured: readonly Condition[];
}

export interface TlsOptions {
  /** A Secret in the namespace of each lease, or, as "namespace/name", the controller's own default. */
  readonly secret: string | undefined;
  /** A ClusterIssuer of cert-manager, which makes a Secret for each host name. */
  readonly issuer: string | undefined;
}

/** Kinds that come with a controller; none of them has to be there. */
export const middleware = traefikKind("Middleware", "middlewares");
export const serversTransport = traefikKind("ServersTransport", "serverstransports");
export const clientSettingsPolicy = fabricKind("ClientSettingsPolicy", "clientsettingspolicies");
export const proxySettingsPolicy = fabricKind("ProxySettingsPolicy", "proxysettingspolicies");

function traefikKind(kind: string, plural: string): Kind {
  return { group: "traefik.io", version: "v1alpha1", kind, plural, namespaced: true };
}

/** NGINX Gateway Fabric. */
function fabricKind(kind: string, plural: string): Kind {
  return { group: "gateway.nginx.org", version: "v1alpha1", kind, plural, namespaced: true };
}

/** On objects that name their host nowhere else. */
export const hostnameAnnotation = "akash.network/hostname";
/** On a ServersTransport: the Service that it is for. */
export const serviceAnnotation = "akash.network/service";

/** The network's name for the route of a host, as far as Kubernetes accepts it. */
export function routeMeta({ host, namespace, lease }: Directive) {
  return { name: providerHostName(host), namespace, labels: idLabels(lease) };
}

export function partMeta(directive: Directive, part: string) {
  const { host, namespace, lease } = directive;
  const name = `akash-${digestOf(host)}-${part}`;
  return { name, namespace, labels: idLabels(lease), annotations: { [hostnameAnnotation]: host } };
}

export interface IngressOptions {
  readonly ingressClass: string;
  readonly tls: TlsOptions;
}

/** The Ingress of every controller that reads Ingresses; the annotations are the controller's own. */
export function ingressOf(
  directive: Directive,
  annotations: Readonly<Record<string, string>>,
  { ingressClass, tls }: IngressOptions,
): DesiredObject {
  const { host, service, externalPort } = directive;
  const backend = { service: { name: service, port: { number: externalPort } } };
  const issuer = tls.issuer === undefined ? {} : { "cert-manager.io/cluster-issuer": tls.issuer };
  return {
    kind: kinds.ingress,
    object: {
      metadata: { ...routeMeta(directive), annotations: { ...annotations, ...issuer } },
      spec: {
        ingressClassName: ingressClass,
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
        ...tlsOf(host, tls),
      },
    },
  };
}

/** An Ingress cannot name a Secret of another namespace; without one, controllers show their default certificate. */
function tlsOf(host: string, { secret, issuer }: TlsOptions): { tls?: readonly object[] } {
  const hosts = [host];
  if (issuer !== undefined) return { tls: [{ hosts, secretName: `akash-${digestOf(host)}-tls` }] };
  if (secret === undefined) return {};
  return { tls: [secret.includes("/") ? { hosts } : { hosts, secretName: secret }] };
}

/** Letters and digits only: Traefik does not distinguish dots and dashes. */
export function digestOf(text: string): string {
  return base32Hex(createHash("sha256").update(text).digest()).slice(0, 24);
}

/** Annotations or sizes with this prefix, without those that are undefined. */
export function prefixed(prefix: string, values: Readonly<Record<string, string | number | undefined>>) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [`${prefix}${name}`, `${value}`]));
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** A condition for each of these options that the tenant set, with its reason: tools write the defaults into every manifest. */
export function notHonoured(
  { options }: Directive,
  reasons: Partial<Readonly<Record<keyof RouteOptions, string>>>,
): Condition[] {
  return (Object.entries(reasons) as [keyof RouteOptions, string][])
    .filter(([option]) => !isDefault(option, options))
    .map(([option, why]) => hostCondition("OptionNotHonoured", `${optionWord(option)} ${options[option]}: ${why}`));
}

/** For kinds that the cluster does not know, with what holds instead. */
export function notServed(needed: readonly Kind[], isServed: (kind: Kind) => boolean, instead: string): Condition[] {
  return needed
    .filter((kind) => !isServed(kind))
    .map((kind) => hostCondition("OptionNotHonoured", `the cluster does not know ${resourceOf(kind)}, so ${instead}`));
}

function isDefault(option: keyof RouteOptions, options: RouteOptions): boolean {
  // The network's tools write 0 here.
  if (option === "nextTimeout" && options.nextTimeout === 0) return true;
  return `${options[option]}` === `${defaultOptions[option]}`;
}

export function createNginxBackend(options: IngressOptions): RouteBackend {
  return {
    name: "Ingress-NGINX",
    kind: kinds.ingress,
    uses: [kinds.ingress],
    build: (directive) => ({
      ...{ parts: [], policies: [], unhonoured: [] },
      route: ingressOf(directive, annotationsOf(directive.options), options),
    }),
  };
}

function annotationsOf(options: RouteOptions): Record<string, string> {
  return prefixed("nginx.ingress.kubernetes.io/", {
    "proxy-read-timeout": wholeSeconds(options.readTimeout),
    "proxy-send-timeout": wholeSeconds(options.sendTimeout),
    "proxy-next-upstream-tries": options.nextTries,
    "proxy-body-size": options.maxBodySize,
    "proxy-next-upstream-timeout": wholeSeconds(options.nextTimeout),
    "proxy-next-upstream": options.nextCases.map(nginxCase).join(" "),
    // Left out where no tenant sets it, as the network's operator does.
    "proxy-buffer-size": options.proxyBufferSize,
  });
}

/** "502" is http_502 to NGINX. */
export function nginxCase(word: string): string {
  return /^[1-5]/.test(word) ? `http_${word}` : word;
}
