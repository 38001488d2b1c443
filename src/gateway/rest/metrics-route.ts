/** `/metrics`: a few for everybody, as the network's dashboards read them, and all for who has the operator's token. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Metrics } from "../../runtime/metrics.ts";
import { type Answer, refusal } from "./answer.ts";
import type { PublicRoute, Route } from "./route.ts";

/** What a provider shows to strangers: sums that `/status` tells as well. */
const open: ReadonlySet<string> = new Set([
  "provider_order_manager",
  "provider_deployment_manager",
  "provider_manifest_manager",
  "provider_order_handler",
]);

/** `token`: what opens all of them; undefined while there is none. */
export function metricsRoutes(
  metrics: Pick<Metrics, "text" | "contentType">,
  token: () => string | undefined,
): Route[] {
  const route: PublicRoute = {
    ...{ method: "GET", path: "/metrics", access: "public", readsAuthorization: true },
    about: "Metrics for Prometheus: four of them, and all with the bearer token of --gateway-metrics-token-file.",
    answers: { 200: "The metrics.", 401: "The token is another one." },
    async handle({ header }): Promise<Answer> {
      const authorization = header("authorization");
      if (authorization !== undefined && !opens(authorization, token())) return refusal(401, "unauthorized access");
      const body = await metrics.text(authorization === undefined ? open : undefined);
      return { status: 200, headers: [["Content-Type", metrics.contentType]], body };
    },
  };
  return [route];
}

function opens(authorization: string, token: string | undefined): boolean {
  if (token === undefined) return false;
  // Of their hashes: how long the comparison takes says nothing of either, their lengths included.
  const [given, wanted] = [authorization.replace(/^bearer +/i, ""), token].map((text) =>
    createHash("sha256").update(text),
  );
  return given !== undefined && wanted !== undefined && timingSafeEqual(given.digest(), wanted.digest());
}
