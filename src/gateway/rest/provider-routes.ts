/** Routes for anybody: address, version, health, status and metrics. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { Kube, KubeVersion } from "../../kube/kube.ts";
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

/** The API server's version is asked for again when somebody wants to know it: it changes by an upgrade. */
export const gatewayVersionAgeMs = 60 * second;
export const gatewayVersionMs = 3 * second;

/** The network's provider that we answer like: Console asks for at least 0.5.0. Ours is in the build tags. */
const answersLike = "v0.16.0";
/** What that version is built on; Console's indexer stores it. */
const cosmosSdkVersion = "v0.53.6";

interface VersionDeps {
  readonly kube: Kube | undefined;
  readonly version: string;
  readonly clock: Clock;
}

export function versionRoutes({ kube, version, clock }: VersionDeps): Route[] {
  const akash = {
    name: "provider-services",
    server_name: "provider-services",
    version: answersLike,
    commit: "",
    build_tags: `akash-provider/${version}`,
    go: `node ${process.version} ${process.platform}/${process.arch}`,
    build_deps: [],
    cosmos_sdk_version: cosmosSdkVersion,
  };
  const answerOf = (seen: KubeVersion) => json(JSON.stringify({ akash, kube: seen }));
  let last: { readonly answer: RestAnswer; readonly atMs: number } | undefined;
  let asking: Promise<RestAnswer> | undefined;

  /** Once for all who ask meanwhile. */
  function look(from: Kube): Promise<RestAnswer> {
    asking ??= from
      .version({ deadlineMs: gatewayVersionMs })
      .then((seen) => {
        const answer = answerOf(seen);
        last = { answer, atMs: clock.monotonicMs() };
        return answer;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  return [
    {
      ...{ method: "GET", path: "/version", access: "public" },
      about:
        "The version of the network's provider that this one answers like, and the one of the cluster's API server.",
      answers: { 200: "Both versions.", 503: "The API server was never seen, and why." },
      handle() {
        if (!kube) throw new ProviderError("AKP_GATEWAY_NO_CLUSTER", {});
        if (!last) return look(kube);
        // What was seen last is told at once; an API server that is away keeps its version.
        if (clock.monotonicMs() - last.atMs > gatewayVersionAgeMs) look(kube).catch(() => undefined);
        return last.answer;
      },
    },
  ];
}

interface Dependency {
  readonly name: string;
  readonly error: string | undefined;
}

const alive: RestAnswer = { status: 200, headers: textHeaders, body: "ok\n" };

export function healthRoutes(dependencies: () => readonly Dependency[]): Route[] {
  return [
    {
      ...{ method: "GET", path: "/healthz", access: "public" },
      about:
        "Whether the process lives. Whoever starts it again when this fails helps it; for what it waits for that is no help.",
      answers: { 200: "It does." },
      handle: () => alive,
    },
    {
      ...{ method: "GET", path: "/readyz", access: "public" },
      about: "Whether all that the provider needs can be used, each with the reason where it cannot.",
      answers: { 200: "All of it can.", 503: "Something cannot." },
      handle() {
        const all = dependencies();
        const isReady = all.every(({ error }) => error === undefined);
        const shown = all.map(({ name, error }) => [name, error ?? "ok"]);
        return json(JSON.stringify({ ready: isReady, dependencies: Object.fromEntries(shown) }), isReady ? 200 : 503);
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
      about: "What runs here, what is promised and what is free, as it was `Age` seconds ago at the worst.",
      answers: { 200: "The status; `stale` names what could not be read lately, since when and why." },
      handle() {
        const newest = snapshot();
        if (newest !== shown) answer = withHeader(json(newest.body), "Age", `${newest.ageS}`);
        shown = newest;
        return answer;
      },
    },
  ];
}

// `/metrics`: a few for everybody, as the network's dashboards read them, and all for who has the operator's token.

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
    about: "Metrics for Prometheus: four of them, and all with the bearer token of --gateway-metrics-token-file.",
    answers: { 200: "The metrics.", 401: "The token is another one." },
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
  // Of their hashes: how long the comparison takes says nothing of either, their lengths included.
  const [given, wanted] = [authorization.replace(/^bearer +/i, ""), token].map((text) =>
    createHash("sha256").update(text),
  );
  return given !== undefined && wanted !== undefined && timingSafeEqual(given.digest(), wanted.digest());
}

// The token that opens all metrics, out of a file that its operator may change at any time.

/** Less is guessed. */
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
  // One that was taken away, or is none any more, opens nothing.
  return () => (file.trouble === undefined ? file.current : undefined);
}
