/** The Gateway API: an HTTPRoute, and what each implementation of it needs besides to treat requests as they are to be. */
import { kinds } from "../../../kube/kinds.ts";
import { condition } from "../condition.ts";
import type { Directive } from "../directive.ts";
import { type Backend, type RouteObjects, routeMeta, type TlsOptions } from "./backend.ts";
import { fabricExtras } from "./gateway-nginx.ts";
import { traefikExtras } from "./gateway-traefik.ts";
import { clientSettingsPolicy, middleware, proxySettingsPolicy } from "./kinds.ts";

export interface GatewayOptions {
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
  readonly gatewayProvider: "nginx" | "traefik";
  /** As NGINX writes sizes. */
  readonly proxyBufferSize: string;
  readonly tls: TlsOptions;
}

/** What an implementation adds to the route that every one has. */
export interface Extras extends Partial<Pick<RouteObjects, "parts" | "policies">> {
  readonly unhonoured: RouteObjects["unhonoured"];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the one rule. */
  readonly filters?: readonly object[];
}

const extrasOf = { nginx: fabricExtras, traefik: traefikExtras };
const extraKinds = { nginx: [clientSettingsPolicy, proxySettingsPolicy], traefik: [middleware] };

export function createGatewayBackend(options: GatewayOptions): Backend {
  const { gatewayName, gatewayNamespace, gatewayProvider, tls } = options;
  const { group, kind } = kinds.gateway;
  const parentRefs = [{ group, kind, namespace: gatewayNamespace, name: gatewayName }];
  const hasTls = tls.secret !== undefined || tls.issuer !== undefined;
  const tlsNote = condition(
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
      const extras = extrasOf[gatewayProvider](directive, options, isServed);
      const { parts = [], policies = [] } = extras;
      const unhonoured = [...extras.unhonoured, ...(hasTls ? [tlsNote] : [])];
      return { parts, policies, route: routeOf(directive, extras), unhonoured };
    },
  };
}
