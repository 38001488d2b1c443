/** Traefik behind the Gateway API: a filter of the route may name a Middleware, and nothing may name a ServersTransport. */
import type { Kind } from "../../../kube/kinds.ts";
import type { Directive } from "../directive.ts";
import { notHonoured, notServed } from "./backend.ts";
import type { Extras } from "./gateway-api.ts";
import { middleware } from "./kinds.ts";
import { heldAnswers, middlewaresOf, triedAgain } from "./traefik.ts";

export function traefikExtras(directive: Directive, _options: unknown, isServed: (kind: Kind) => boolean): Extras {
  const timeouts = "Traefik has no time-outs for routes of the Gateway API";
  const unhonoured = [
    ...notHonoured(directive, {
      maxBodyBytes: heldAnswers,
      readTimeoutMs: timeouts,
      sendTimeoutMs: timeouts,
      nextTimeoutMs: timeouts,
      proxyBufferBytes: "Traefik has no such buffer",
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
