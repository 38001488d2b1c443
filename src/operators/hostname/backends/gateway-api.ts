/** The Gateway API: an HTTPRoute, and what NGINX Gateway Fabric and Traefik need besides it for the options of a route. */
import { type Kind, kinds } from "../../../kube/kinds.ts";
import { providerHostName } from "../../../kube/objects/provider-host.ts";
import type { Directive } from "../directive.ts";
import { hostCondition } from "../host-states.ts";
import {
  clientSettingsPolicy,
  middleware,
  nginxCase,
  notHonoured,
  notServed,
  partMeta,
  prefixed,
  proxySettingsPolicy,
  type RouteBackend,
  type RouteObjects,
  routeMeta,
  type TlsOptions,
  wholeSeconds,
} from "./backend.ts";
import { heldAnswers, middlewaresOf, triedAgain } from "./traefik.ts";

export interface GatewayBackendOptions {
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
  readonly gatewayProvider: "nginx" | "traefik";
  /** As NGINX writes sizes. */
  readonly proxyBufferSize: string;
  readonly tls: TlsOptions;
}

interface Extras extends Partial<Pick<RouteObjects, "parts" | "policies">> {
  readonly unhonoured: RouteObjects["unhonoured"];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly filters?: readonly object[];
}

const extrasOf = { nginx: fabricExtras, traefik: traefikExtras };
const extraKinds = { nginx: [clientSettingsPolicy, proxySettingsPolicy], traefik: [middleware] };

export function createGatewayBackend(options: GatewayBackendOptions): RouteBackend {
  const { gatewayName, gatewayNamespace, gatewayProvider, tls } = options;
  const { group, kind } = kinds.gateway;
  const parentRefs = [{ group, kind, namespace: gatewayNamespace, name: gatewayName }];
  const hasTls = tls.secret !== undefined || tls.issuer !== undefined;
  const tlsNote = hostCondition(
    "OptionNotHonoured",
    `certificates are the Gateway's: name them in the listeners of ${gatewayNamespace}/${gatewayName}`,
  );

  function routeOf(directive: Directive, { annotations, filters }: Extras) {
    const { host, service, externalPort } = directive;
    const matches = [{ path: { type: "PathPrefix", value: "/" } }];
    const backendRefs = [{ name: service, port: externalPort }];
    return {
      kind: kinds.httpRoute,
      object: {
        metadata: { ...routeMeta(directive), ...(annotations && { annotations }) },
        spec: { parentRefs, hostnames: [host], rules: [{ matches, ...(filters && { filters }), backendRefs }] },
      },
    };
  }

  return {
    name: "the Gateway API",
    kind: kinds.httpRoute,
    uses: [kinds.httpRoute, ...extraKinds[gatewayProvider]],
    build(directive, isServed) {
      const extras = extrasOf[gatewayProvider](directive, isServed, options.proxyBufferSize);
      const { parts = [], policies = [] } = extras;
      const unhonoured = [...extras.unhonoured, ...(hasTls ? [tlsNote] : [])];
      return { parts, policies, route: routeOf(directive, extras), unhonoured };
    },
  };
}

/** The Fabric reads policies that name the route; the annotations are those of the network's operator, and it reads none of them. */
function fabricExtras(directive: Directive, isServed: (kind: Kind) => boolean, defaultBuffer: string): Extras {
  const { proxyBufferSize } = directive.options;
  const bufferSize = proxyBufferSize === undefined ? defaultBuffer : fabricSize(proxyBufferSize);
  const policies = [clientPolicy(directive), proxyPolicy(directive, bufferSize)];
  const policyKinds = policies.map(({ kind }) => kind);
  const tries = "NGINX Gateway Fabric has no policy for trying another workload";
  return {
    annotations: fabricAnnotations(directive, bufferSize),
    policies: policies.filter(({ kind }) => isServed(kind)),
    unhonoured: [
      ...notServed(policyKinds, isServed, "what they would set is the Gateway's own"),
      ...notHonoured(directive, { nextTries: tries, nextTimeout: tries, nextCases: tries }),
    ],
  };
}

function fabricAnnotations({ options }: Directive, bufferSize: string): Record<string, string> {
  const { nextTimeout, nextCases } = options;
  return prefixed("nginx.org/", {
    "client-max-body-size": options.maxBodySize,
    "proxy-read-timeout": wholeSeconds(options.readTimeout),
    "proxy-send-timeout": wholeSeconds(options.sendTimeout),
    "proxy-next-upstream-tries": options.nextTries,
    "proxy-buffer-size": bufferSize,
    "proxy-next-upstream-timeout": nextTimeout > 0 ? `${wholeSeconds(nextTimeout)}s` : undefined,
    "proxy-next-upstream": nextCases.length > 0 ? nextCases.map(nginxCase).join(" ") : undefined,
  });
}

function clientPolicy(directive: Directive) {
  const spec = { targetRef: targetOf(directive), body: { maxSize: fabricSize(directive.options.maxBodySize) } };
  return { kind: clientSettingsPolicy, object: { metadata: partMeta(directive, "client"), spec } };
}

function proxyPolicy(directive: Directive, size: string) {
  const { readTimeout, sendTimeout } = directive.options;
  const timeout = { read: `${wholeSeconds(readTimeout)}s`, send: `${wholeSeconds(sendTimeout)}s` };
  // NGINX rejects its whole configuration where the other buffers together are not larger than twice this one.
  const buffering = { bufferSize: size, buffers: { number: 8, size } };
  const spec = { targetRefs: [targetOf(directive)], timeout, buffering };
  return { kind: proxySettingsPolicy, object: { metadata: partMeta(directive, "proxy"), spec } };
}

function targetOf({ host }: Directive) {
  const { group, kind } = kinds.httpRoute;
  return { group, kind, name: providerHostName(host) };
}

/** Its sizes have four digits at most; others are rounded up to the next unit. */
export function fabricSize(bytes: number): string {
  for (const [unit, of] of [
    ["", 1],
    ["k", 2 ** 10],
    ["m", 2 ** 20],
  ] as const) {
    if (Math.ceil(bytes / of) <= 9_999) return `${Math.ceil(bytes / of)}${unit}`;
  }
  return `${Math.ceil(bytes / 2 ** 30)}g`;
}

/** With Traefik a filter of the route may name a Middleware, and nothing may name a ServersTransport. */
function traefikExtras(directive: Directive, isServed: (kind: Kind) => boolean): Extras {
  const timeouts = "Traefik has no time-outs for routes of the Gateway API";
  const unhonoured = [
    ...notHonoured(directive, {
      maxBodySize: heldAnswers,
      readTimeout: timeouts,
      sendTimeout: timeouts,
      nextTimeout: timeouts,
      proxyBufferSize: "Traefik has no such buffer",
    }),
    ...triedAgain(directive),
    ...notServed([middleware], isServed, "requests may be of any size"),
  ];
  if (!isServed(middleware)) return { unhonoured };
  const parts = middlewaresOf(directive);
  const { group, kind } = middleware;
  const refTo = (name: string) => ({ type: "ExtensionRef", extensionRef: { group, kind, name } });
  return { parts, filters: parts.map(({ object }) => refTo(object.metadata.name)), unhonoured };
}
