/**
 * What turns a host name into objects that a controller understands. One is in force at a time, by the settings; all of
 * them are pure, and say what they cannot have their controller do.
 */
import { createHash } from "node:crypto";
import { type Kind, resourceOf } from "../../../kube/kinds.ts";
import { idLabels } from "../../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import { providerHostName } from "../../../kube/objects/provider-host.ts";
import { base32Hex } from "../../../market/lease-namespace.ts";
import { type Condition, condition } from "../condition.ts";
import { type Directive, defaultOptions, type RouteOptions } from "../directive.ts";

export interface Backend {
  /** "Ingress-NGINX", for messages. */
  readonly name: string;
  /** Of the route itself. */
  readonly kind: Kind;
  /** All that it makes objects of. */
  readonly uses: readonly Kind[];
  /** `isServed` says which of the controller's own kinds the cluster has. */
  build(directive: Directive, isServed: (kind: Kind) => boolean): RouteObjects;
}

export interface RouteObjects {
  /** What the route refers to; made before it, and gone after it. */
  readonly parts: readonly DesiredObject[];
  readonly route: DesiredObject;
  /** What refers to the route; without them it works all the same, as its controller pleases. */
  readonly policies: readonly DesiredObject[];
  /** What the controller will not do of what was asked for. */
  readonly unhonoured: readonly Condition[];
}

export interface TlsOptions {
  /** A Secret in the namespace of each lease, or, as "namespace/name", the controller's own default. */
  readonly secret: string | undefined;
  /** A ClusterIssuer of cert-manager, which makes a Secret for each host name. */
  readonly issuer: string | undefined;
}

/** On objects that say nowhere else which host name they are for. */
export const hostnameAnnotation = "akash.network/hostname";

/** The route of a host name: the network's name for it, as far as Kubernetes takes it. */
export function routeMeta({ host, namespace, lease }: Directive) {
  return { name: providerHostName(host), namespace, labels: idLabels(lease) };
}

/** Of something else that a route needs. */
export function partMeta(directive: Directive, part: string) {
  const { host, namespace, lease } = directive;
  const name = `akash-${digestOf(host)}-${part}`;
  return { name, namespace, labels: idLabels(lease), annotations: { [hostnameAnnotation]: host } };
}

/** Letters and digits only: Traefik takes dots and dashes for the same. */
export function digestOf(text: string): string {
  return base32Hex(createHash("sha256").update(text).digest()).slice(0, 24);
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** What nobody asked for is not missed: tools write the network's defaults into every manifest. */
export function notHonoured(
  { options }: Directive,
  wishes: Partial<Readonly<Record<keyof RouteOptions, string>>>,
): Condition[] {
  return (Object.entries(wishes) as [keyof RouteOptions, string][])
    .filter(([option]) => !isDefault(option, options))
    .map(([option, why]) => condition("OptionNotHonoured", `${words[option]} ${shownValue(options, option)}: ${why}`));
}

/** Of kinds that the cluster does not know, and what holds without them. */
export function notServed(kinds: readonly Kind[], isServed: (kind: Kind) => boolean, instead: string): Condition[] {
  return kinds
    .filter((kind) => !isServed(kind))
    .map((kind) => condition("OptionNotHonoured", `the cluster does not know ${resourceOf(kind)}, so ${instead}`));
}

function isDefault(option: keyof RouteOptions, options: RouteOptions): boolean {
  // The network's tools write 0 here.
  if (option === "nextTimeoutMs" && options.nextTimeoutMs === 0) return true;
  return `${options[option]}` === `${defaultOptions[option]}`;
}

function shownValue(options: RouteOptions, option: keyof RouteOptions): string {
  const value = options[option];
  return Array.isArray(value) ? value.join(",") : `${value}`;
}

/** As tenants write them. */
const words: Readonly<Record<keyof RouteOptions, string>> = {
  maxBodyBytes: "max_body_size",
  readTimeoutMs: "read_timeout",
  sendTimeoutMs: "send_timeout",
  nextTries: "next_tries",
  nextTimeoutMs: "next_timeout",
  nextCases: "next_cases",
  proxyBufferBytes: "proxy_buffer_size",
};
