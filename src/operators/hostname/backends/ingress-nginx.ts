/** Ingress-NGINX: every option is an annotation of the Ingress, as the network's own operator writes it. */
import { kinds } from "../../../kube/kinds.ts";
import type { RouteOptions } from "../directive.ts";
import { type Backend, type IngressOptions, ingressOf, prefixed, wholeSeconds } from "./backend.ts";

export function createNginxBackend(options: IngressOptions): Backend {
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
