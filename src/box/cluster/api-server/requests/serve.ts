/** Answers requests as the API server does over HTTP, without any wire. */

import { connectionError } from "../../../../kube/client/api-errors.ts";
import type { SentRequest } from "../../../../kube/client/transport.ts";
import { resourceOf } from "../../../../kube/kinds.ts";
import { type Clock, sleep } from "../../../../runtime/clock.ts";
import { minute } from "../../../../runtime/durations.ts";
import type { PodRuntime } from "../../components/kubelet/pod-runtime.ts";
import { notFound } from "../objects/rejections.ts";
import { noSuchResource, peer, StatusError, statusOf } from "../objects/status-error.ts";
import type { Served } from "../served-kinds.ts";
import { readSelection, type Server } from "../server.ts";
import { type ApiAnswer, type Call, isTrue, jsonAnswer, verbOf } from "./api-request.ts";
import type { FaultState } from "./faults.ts";
import { describeGroup } from "./groups.ts";
import { listPage } from "./lists.ts";
import { answerMetrics, describeMetrics, isMetrics } from "./metrics.ts";
import { proxyTo, readLog } from "./pods.ts";
import { readRoute } from "./route.ts";
import type { Watches } from "./watches.ts";
import { answerWrite } from "./write-answers.ts";

/** A watch that does not say how long it wants to last: the least that a real server grants. */
const simulatedWatchMs = 30 * minute;

interface ServeDeps {
  readonly server: Server;
  readonly runtime: PodRuntime;
  readonly watches: Watches;
  readonly faults: FaultState;
  readonly clock: Clock;
  /** Whether there is a metrics API. */
  readonly metrics: boolean;
}

export type Serve = (request: SentRequest) => Promise<ApiAnswer>;

export function createServe(deps: ServeDeps): Serve {
  const { faults, clock } = deps;
  return async (request) => {
    if (faults.delayMs > 0) await sleep(clock, faults.delayMs, request.signal);
    try {
      return await answer(request, deps);
    } catch (thrown) {
      if (!(thrown instanceof StatusError)) throw thrown;
      const seconds = thrown.details?.retryAfterSeconds;
      const headers: Record<string, string> = seconds === undefined ? {} : { "retry-after": String(seconds) };
      return jsonAnswer(statusOf(thrown), thrown.status, headers);
    }
  };
}

const version = { major: "1", minor: "34", gitVersion: "v1.34.4", platform: "linux/amd64" };
const plainText = { "content-type": "text/plain; charset=utf-8" };

async function answer(request: SentRequest, deps: ServeDeps): Promise<ApiAnswer> {
  const [path = "", search = ""] = request.path.split("?", 2);
  const query = new URLSearchParams(search);
  const route = readRoute(path);
  if (!route) {
    deps.faults.check({ verb: "get", resource: path, path: request.path, dryRun: false });
    if (path === "/version") return jsonAnswer(version);
    const offered = describeGroup(deps.server.served, path) ?? (deps.metrics ? describeMetrics(path) : undefined);
    if (offered) return jsonAnswer(offered);
    return { status: 404, headers: plainText, body: "404 page not found\n" };
  }
  const call: Call = { ...request, route, query, verb: verbOf(request.method, route, query) };
  const resource = resourceOf({ ...route, kind: "", namespaced: true });
  const received = { verb: call.verb, resource, path, dryRun: query.has("dryRun") };
  deps.faults.check(received);
  if (deps.metrics && isMetrics(route)) return answerMetrics({ ...deps, nowMs: deps.clock.now() }, call);
  const served = deps.server.served.of(route);
  if (served) {
    const given = await answerFor(served, call, deps);
    // The request was executed, and its answer is lost.
    if (deps.faults.loses(received)) throw connectionError(new Error("socket hang up"), request, peer);
    return given;
  }
  // A group that has nothing at all is not even known to be one.
  if (deps.server.served.inGroup(route.group, route.version).length > 0) throw noSuchResource();
  return { status: 404, headers: plainText, body: "404 page not found\n" };
}

/** What the API server reads of one request, and what etcd takes. */
const [mostReadBytes, mostStoredBytes] = [3 * 1024 * 1024, 1.5 * 1024 * 1024];

/** These may hold less, and say so themselves. */
const smallKinds = new Set(["configmaps", "secrets"]);

function checkSize({ body = "" }: Call, { kind }: Served): void {
  const bytes = Buffer.byteLength(body);
  if (bytes > mostReadBytes) {
    const message = `Request entity too large: limit is ${mostReadBytes}`;
    throw new StatusError(413, "RequestEntityTooLarge", message);
  }
  if (bytes > mostStoredBytes && !smallKinds.has(kind.plural)) {
    throw new StatusError(500, "", "etcdserver: request is too large");
  }
}

async function answerFor(served: Served, call: Call, deps: ServeDeps): Promise<ApiAnswer> {
  checkSize(call, served);
  const { route, verb } = call;
  const { namespace, name, below } = route;
  if (served.kind.group === "" && (route.plural === "pods" || route.plural === "services") && name !== undefined) {
    const at = { namespace, name };
    if (below === "proxy" || below?.startsWith("proxy/")) return proxyTo(deps, route.plural, at, call);
    if (below === "log" && route.plural === "pods") return readLog(deps, at, call);
  }
  const subresource = subresourceOf(served, below);
  if (isWrite(verb)) return answerWrite(served, { ...call, subresource }, deps.server);
  if (name === undefined) return answerCollection(served, call, deps);
  const found = deps.server.store.get(served, { namespace, name });
  if (!found) throw notFound(served.kind, name);
  return jsonAnswer(found);
}

function isWrite(verb: Call["verb"]): boolean {
  return verb === "create" || verb === "update" || verb === "patch" || verb === "delete";
}

function answerCollection(
  served: Served,
  { route, query, verb }: Call,
  { server, watches, faults }: ServeDeps,
): ApiAnswer {
  const labelSelector = query.get("labelSelector") ?? undefined;
  const fieldSelector = query.get("fieldSelector") ?? undefined;
  const wanted = readSelection(served, { namespace: route.namespace, labelSelector, fieldSelector });
  if (verb === "watch") {
    const seconds = Number(query.get("timeoutSeconds"));
    const body = watches.open({
      served,
      wanted,
      from: query.get("resourceVersion") ?? undefined,
      lastsMs: seconds > 0 ? seconds * 1_000 : simulatedWatchMs,
      bookmarks: isTrue(query.get("allowWatchBookmarks")),
    });
    return { status: 200, headers: { "content-type": "application/json" }, body };
  }
  if (verb !== "list") throw noSuchResource();
  const limit = Number(query.get("limit")) || undefined;
  const next = query.get("continue") || undefined;
  return jsonAnswer(listPage(server.store, faults, { served, wanted, limit, next }));
}

function subresourceOf({ hasStatus, kind }: Served, below: string | undefined): "status" | "finalize" | undefined {
  if (below === undefined) return undefined;
  if (below === "status" && hasStatus) return below;
  if (below === "finalize" && kind.kind === "Namespace") return below;
  throw noSuchResource();
}
