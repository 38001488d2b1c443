/**
 * Traefik v3.6 on Ingresses: body size and retries are Middlewares; time-outs are a ServersTransport of the Service.
 */
import { kinds } from "../../../kube/kinds.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import type { Condition } from "../../../runtime/condition.ts";
import { type Directive, defaultOptions } from "../directive.ts";
import { hostCondition } from "../host-states.ts";
import {
  digestOf,
  type IngressOptions,
  ingressOf,
  middleware,
  notHonoured,
  notServed,
  partMeta,
  prefixed,
  type RouteBackend,
  serversTransport,
  serviceAnnotation,
} from "./backend.ts";

export const transportAnnotation = "traefik.ingress.kubernetes.io/service.serverstransport";

/**
 * Traefik prefers the longest rule: a wildcard comes after the names below it (31 characters or more) and before "/".
 */
const wildcardPriority = 20;

export function createTraefikBackend(options: IngressOptions): RouteBackend {
  return {
    name: "Traefik",
    kind: kinds.ingress,
    uses: [kinds.ingress, middleware, serversTransport],
    build(directive, isServed) {
      const parts = isServed(middleware) ? middlewaresOf(directive) : [];
      const named = parts.map(({ object }) => traefikName(directive.namespace, object.metadata.name)).join(",");
      const annotations = prefixed("traefik.ingress.kubernetes.io/router.", {
        middlewares: named || undefined,
        priority: directive.host.startsWith("*.") ? wildcardPriority : undefined,
      });
      const lacking = notServed([middleware, serversTransport], isServed, "sizes and time-outs are Traefik's own");
      return {
        ...{ parts, policies: [] },
        route: ingressOf(directive, annotations, options),
        unhonoured: [...unhonoured(directive), ...lacking],
      };
    },
  };
}

/** Traefik limits body sizes only by buffering whole responses, which breaks streaming: only for a non-default size. */
export function middlewaresOf(directive: Directive): DesiredObject[] {
  const { nextTries, nextCases, maxBodySize } = directive.options;
  // The first try counts too, for NGINX and for Traefik.
  const isRetried = nextTries > 1 && nextCases.includes("error");
  const retry = { metadata: partMeta(directive, "retry"), spec: { retry: { attempts: nextTries } } };
  const buffering = { maxRequestBodyBytes: maxBodySize };
  const body = { metadata: partMeta(directive, "body"), spec: { buffering } };
  const isLimited = maxBodySize !== defaultOptions.maxBodySize;
  return [...(isLimited ? [body] : []), ...(isRetried ? [retry] : [])].map((object) => ({ kind: middleware, object }));
}

/** As Traefik names what its own resources define. */
export function traefikName(namespace: string, name: string): string {
  return `${namespace}-${name}@kubernetescrd`;
}

/** One for each Service: the annotation that names it is the Service's. */
export function transportOf(
  { namespace, service }: Pick<Directive, "namespace" | "service">,
  readTimeout: number,
  labels: Readonly<Record<string, string>>,
): DesiredObject {
  const name = `akash-${digestOf(service)}-transport`;
  return {
    kind: serversTransport,
    object: {
      metadata: { name, namespace, labels, annotations: { [serviceAnnotation]: service } },
      spec: { forwardingTimeouts: { responseHeaderTimeout: `${readTimeout}ms` } },
    },
  };
}

export const heldAnswers = "it is kept, but Traefik then holds every answer back until it is whole";

function unhonoured(directive: Directive): Condition[] {
  const { readTimeout } = directive.options;
  const { longestReadMs } = directive;
  const shared = `Traefik has one for all ports of a service, and another port has ${longestReadMs}`;
  return [
    ...notHonoured(directive, {
      maxBodySize: heldAnswers,
      sendTimeout: "Traefik has no time-out of its own for sending a request to a workload",
      nextTimeout: "Traefik tries again without a limit in time",
      proxyBufferSize: "Traefik has no such buffer",
    }),
    ...triedAgain(directive),
    ...(longestReadMs === readTimeout
      ? []
      : [hostCondition("OptionNotHonoured", `read_timeout ${readTimeout}: ${shared}`)]),
  ];
}

export function triedAgain({ options: { nextCases, nextTries } }: Directive): Condition[] {
  const others = nextTries > 1 ? nextCases.filter((each) => !["error", "timeout", "off"].includes(each)) : [];
  if (others.length === 0) return [];
  const why = "Traefik tries again only where a workload does not answer";
  return [hostCondition("OptionNotHonoured", `next_cases ${others.join(",")}: ${why}`)];
}
