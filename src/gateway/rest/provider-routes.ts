/** Public routes: address, version, health, status and metrics. */
import { hash, timingSafeEqual } from "node:crypto";
import type { Kube } from "../../kube/kube.ts";
import type { Address } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { followFile } from "../../runtime/followed-file.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { Snapshot } from "../status/status-document.ts";
import { json, messageAnswer, type RestAnswer, textHeaders, withHeader } from "./answer.ts";
import type { PublicRoute, Route } from "./route.ts";

export function addressRoutes(provider: Address): Route[] {
  const address = json(JSON.stringify({ address: provider }));
  return [
    {
      ...{ method: "GET", path: "/address", access: "public" },
      about: "The provider's address on the chain.",
      answers: { 200: "The address." },
      handle: () => address,
    },
  ];
}

/** How long the API server's version is cached. */
export const gatewayVersionAgeMs = 60 * second;
export const gatewayVersionMs = 3 * second;

/** The version of the Go provider that this one is compatible with: Console requires at least 0.5.0. */
const compatibleVersion = "v0.16.0";
/** Of that version; Console's indexer stores it. */
const cosmosSdkVersion = "v0.53.6";

export function versionRoutes({
  kube,
  version,
  clock,
}: {
  kube: Kube | undefined;
  version: string;
  clock: Clock;
}): Route[] {
  const akash = {
    name: "provider-services",
    server_name: "provider-services",
    version: compatibleVersion,
    commit: "",
    build_tags: `akash-provider/${version}`,
    go: `node ${process.version} ${process.platform}/${process.arch}`,
    build_deps: [],
    cosmos_sdk_version: cosmosSdkVersion,
  };
  let last: { readonly answer: RestAnswer; readonly atMs: number } | undefined;
  let pending: Promise<RestAnswer> | undefined;

  async function read(from: Kube): Promise<RestAnswer> {
    try {
      const answer = json(JSON.stringify({ akash, kube: await from.version({ deadlineMs: gatewayVersionMs }) }));
      last = { answer, atMs: clock.monotonicMs() };
      return answer;
    } finally {
      pending = undefined;
    }
  }

  return [
    {
      ...{ method: "GET", path: "/version", access: "public" },
      about: "The version of the Go provider that this one is compatible with, and that of the cluster's API server.",
      answers: { 200: "Both versions.", 503: "Why the API server has not responded." },
      handle() {
        if (!kube) throw new ProviderError("AKP_GATEWAY_NO_CLUSTER", {});
        if (last && clock.monotonicMs() - last.atMs <= gatewayVersionAgeMs) return last.answer;
        pending ??= read(kube);
        if (!last) return pending;
        // Refreshed in the background: the last version counts while the API server is away.
        pending.catch(() => undefined);
        return last.answer;
      },
    },
  ];
}

const alive: RestAnswer = { status: 200, headers: textHeaders, body: "ok\n" };

export function healthRoutes(dependencies: () => readonly { name: string; error: string | undefined }[]): Route[] {
  return [
    {
      ...{ method: "GET", path: "/healthz", access: "public" },
      about: "Liveness probe: fails where a restart helps, and not while a dependency is down.",
      answers: { 200: "The process is alive." },
      handle: () => alive,
    },
    {
      ...{ method: "GET", path: "/readyz", access: "public" },
      about: "Readiness probe: each dependency of the provider, with the reason where it is not ready.",
      answers: { 200: "All are ready.", 503: "At least one is not ready." },
      handle() {
        const all = dependencies();
        const ready = all.every(({ error }) => error === undefined);
        const states = Object.fromEntries(all.map(({ name, error }) => [name, error ?? "ok"]));
        return json(JSON.stringify({ ready, dependencies: states }), ready ? 200 : 503);
      },
    },
  ];
}

export function statusRoutes(snapshot: () => Snapshot): Route[] {
  let shown: Snapshot | undefined;
  let answer: RestAnswer = json("");
  return [
    {
      ...{ method: "GET", path: "/status", access: "public" },
      about: "Leases, reservations and free resources, at most `Age` seconds old.",
      answers: { 200: "The status; `stale` lists parts that could not be read lately, since when and why." },
      handle() {
        const newest = snapshot();
        if (newest !== shown) answer = withHeader(json(newest.body), "Age", `${newest.ageS}`);
        shown = newest;
        return answer;
      },
    },
  ];
}

/** For anonymous clients, as the network's dashboards read them; with the operator's token all are served. */
const open: ReadonlySet<string> = new Set([
  "provider_order_manager",
  "provider_deployment_manager",
  "provider_manifest_manager",
  "provider_order_handler",
]);

export function metricsRoutes(
  metrics: Pick<Metrics, "text" | "contentType">,
  token: () => string | undefined,
): Route[] {
  const route: PublicRoute = {
    ...{ method: "GET", path: "/metrics", access: "public", readsAuthorization: true },
    about: "Metrics for Prometheus: four of them, or all with the bearer token of --gateway-metrics-token-file.",
    answers: { 200: "The metrics.", 401: "The token is wrong." },
    async handle({ header }): Promise<RestAnswer> {
      const authorization = header("authorization");
      if (authorization !== undefined && !opens(authorization, token()))
        return messageAnswer(401, "unauthorized access");
      const body = await metrics.text(authorization === undefined ? open : undefined);
      return { status: 200, headers: [["Content-Type", metrics.contentType]], body };
    },
  };
  return [route];
}

function opens(authorization: string, token: string | undefined): boolean {
  if (token === undefined) return false;
  const digest = (text: string) => hash("sha256", text, "buffer");
  // Hashes have the same length, as a comparison in constant time requires.
  return timingSafeEqual(digest(authorization.replace(/^bearer +/i, "")), digest(token));
}

/** Shorter tokens could be guessed. */
const leastChars = 16;

export function followToken(
  path: string | undefined,
  scope: Pick<Scope, "onStop">,
  deps: { readonly clock: Clock; readonly log: Log },
): () => string | undefined {
  if (path === undefined) return () => undefined;
  const read = (text: string) => {
    const token = text.trim();
    if (token.length < leastChars || /\s/.test(token))
      throw new ProviderError("AKP_GATEWAY_TOKEN_UNUSABLE", { path, leastChars });
    return token;
  };
  const file = followFile({ path, read, what: "metrics token file" }, deps);
  scope.onStop(file.close);
  // A removed or invalid file permits nothing.
  return () => (file.trouble === undefined ? file.current : undefined);
}
