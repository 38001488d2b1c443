/** `/version`: what clients decide by how to talk to us, and what the cluster runs. */
import type { Kube, KubeVersion } from "../../kube/kube.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type Answer, json } from "./answer.ts";
import type { Route } from "./route.ts";

/** The API server's version is asked for again when somebody wants to know it: it changes by an upgrade. */
export const gatewayVersionAgeMs = 60 * second;
export const gatewayVersionMs = 3 * second;

/**
 * The version of the network's provider that we answer like. Clients compare it with versions of that one: Console asks for at
 * least 0.5.0 before it uses what a provider of today has. Ours is in the build tags.
 */
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
  let last: { readonly answer: Answer; readonly atMs: number } | undefined;
  let asking: Promise<Answer> | undefined;

  /** Once for all who ask meanwhile. */
  function look(from: Kube): Promise<Answer> {
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
