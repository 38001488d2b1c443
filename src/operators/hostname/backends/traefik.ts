/**
 * Traefik behind Ingress objects. The size of requests and how often they are tried are Middlewares, which the Ingress
 * names; time-outs are a ServersTransport, which only the Service can name (service-transports.ts). Facts of Traefik v3.6.
 */
import { kinds } from "../../../kube/kinds.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import { type Condition, condition } from "../condition.ts";
import { type Directive, defaultOptions } from "../directive.ts";
import { type Backend, digestOf, notHonoured, notServed, partMeta } from "./backend.ts";
import { type IngressOptions, ingressOf } from "./ingress.ts";
import { middleware, serversTransport } from "./kinds.ts";

export const transportAnnotation = "traefik.ingress.kubernetes.io/service.serverstransport";

const routerPrefix = "traefik.ingress.kubernetes.io/router.";
/**
 * The longest rule goes first, and that of a wildcard is a longer one than those of the names below it. With this it comes
 * after any of them (31 characters and more) and before what an operator has for all names, "PathPrefix(`/`)".
 */
const wildcardPriority = 20;

export function createTraefikBackend(options: IngressOptions): Backend {
  return {
    name: "Traefik",
    kind: kinds.ingress,
    uses: [kinds.ingress, middleware, serversTransport],
    build(directive, isServed) {
      const parts = isServed(middleware) ? middlewaresOf(directive) : [];
      const named = parts.map(({ object }) => traefikName(directive.namespace, object.metadata.name)).join(",");
      const annotations: Record<string, string> = {
        ...(named !== "" && { [`${routerPrefix}middlewares`]: named }),
        ...(directive.host.startsWith("*.") && { [`${routerPrefix}priority`]: `${wildcardPriority}` }),
      };
      const lacking = notServed([middleware, serversTransport], isServed, "sizes and time-outs are Traefik's own");
      return {
        ...{ parts, policies: [] },
        route: ingressOf(directive, annotations, options),
        unhonoured: [...unhonoured(directive), ...lacking],
      };
    },
  };
}

/**
 * Traefik limits the size of a request only where it also holds every answer back until that is whole, which ends what streams:
 * so it does where a tenant asked for a size, and not for the one that tools write into every manifest.
 */
export function middlewaresOf(directive: Directive): DesiredObject[] {
  const { nextTries, nextCases, maxBodyBytes } = directive.options;
  // The first try counts too, for NGINX and for Traefik.
  const isRetried = nextTries > 1 && nextCases.includes("error");
  const retry = { metadata: partMeta(directive, "retry"), spec: { retry: { attempts: nextTries } } };
  const buffering = { maxRequestBodyBytes: maxBodyBytes };
  const body = { metadata: partMeta(directive, "body"), spec: { buffering } };
  const isLimited = maxBodyBytes !== defaultOptions.maxBodyBytes;
  return [...(isLimited ? [body] : []), ...(isRetried ? [retry] : [])].map((object) => ({ kind: middleware, object }));
}

export const heldAnswers = "it is kept, but Traefik then holds every answer back until it is whole";

/** As Traefik names what its own resources define. */
export function traefikName(namespace: string, name: string): string {
  return `${namespace}-${name}@kubernetescrd`;
}

/** One for each Service: the annotation that names it is the Service's. */
export function transportOf(
  { namespace, service }: Pick<Directive, "namespace" | "service">,
  readTimeoutMs: number,
  labels: Readonly<Record<string, string>>,
): DesiredObject {
  return {
    kind: serversTransport,
    object: {
      metadata: {
        name: `akash-${digestOf(service)}-transport`,
        namespace,
        labels,
        annotations: { [serviceAnnotation]: service },
      },
      spec: { forwardingTimeouts: { responseHeaderTimeout: `${readTimeoutMs}ms` } },
    },
  };
}

/** On a ServersTransport: the Service that it is for. */
export const serviceAnnotation = "akash.network/service";

function unhonoured(directive: Directive): Condition[] {
  const { options, longestReadMs } = directive;
  return [
    ...notHonoured(directive, {
      maxBodyBytes: heldAnswers,
      sendTimeoutMs: "Traefik has no time-out of its own for sending a request to a workload",
      nextTimeoutMs: "Traefik tries again without a limit in time",
      proxyBufferBytes: "Traefik has no such buffer",
    }),
    ...triedAgain(directive),
    ...(longestReadMs === options.readTimeoutMs
      ? []
      : [
          condition(
            "OptionNotHonoured",
            `read_timeout ${options.readTimeoutMs}: Traefik has one for all ports of a service, and another port has ${longestReadMs}`,
          ),
        ]),
  ];
}

export function triedAgain({ options: { nextCases, nextTries } }: Directive): Condition[] {
  const asked =
    nextTries > 1 ? nextCases.filter((each) => each !== "error" && each !== "timeout" && each !== "off") : [];
  if (asked.length === 0) return [];
  return [
    condition(
      "OptionNotHonoured",
      `next_cases ${asked.join(",")}: Traefik tries again only where a workload does not answer`,
    ),
  ];
}
