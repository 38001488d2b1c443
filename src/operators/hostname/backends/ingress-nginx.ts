/** Ingress-NGINX: everything is an annotation of the Ingress, as the network's own operator writes it. */
import { kinds } from "../../../kube/kinds.ts";
import type { RouteOptions } from "../directive.ts";
import { type Backend, wholeSeconds } from "./backend.ts";
import { type IngressOptions, ingressOf } from "./ingress.ts";

const prefix = "nginx.ingress.kubernetes.io/";

export function createNginxBackend(options: IngressOptions): Backend {
  return {
    name: "Ingress-NGINX",
    kind: kinds.ingress,
    uses: [kinds.ingress],
    build: (directive) => ({
      ...{ parts: [], policies: [] },
      route: ingressOf(directive, annotationsOf(directive.options), options),
      unhonoured: [],
    }),
  };
}

function annotationsOf(options: RouteOptions): Record<string, string> {
  const values: Record<string, string | number | undefined> = {
    "proxy-read-timeout": wholeSeconds(options.readTimeoutMs),
    "proxy-send-timeout": wholeSeconds(options.sendTimeoutMs),
    "proxy-next-upstream-tries": options.nextTries,
    "proxy-body-size": options.maxBodyBytes,
    "proxy-next-upstream-timeout": wholeSeconds(options.nextTimeoutMs),
    "proxy-next-upstream": options.nextCases.map(nginxCase).join(" "),
    // The network's operator leaves it out, and so do we where no tenant asked for it.
    "proxy-buffer-size": options.proxyBufferBytes,
  };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [`${prefix}${name}`, `${value}`]));
}

/** "502" is http_502 to NGINX. */
export function nginxCase(word: string): string {
  return /^[1-5]/.test(word) ? `http_${word}` : word;
}
