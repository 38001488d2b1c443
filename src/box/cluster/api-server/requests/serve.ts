/** Answers requests as the API server does over HTTP, without any wire. */

import { connectionError } from "../../../../kube/client/refusal.ts";
import type { SentRequest } from "../../../../kube/client/transport.ts";
import { fieldsOf, listOf } from "../../../../kube/json-fields.ts";
import { resourceOf } from "../../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, ObjectMeta } from "../../../../kube/kube.ts";
import { type Clock, sleep } from "../../../../runtime/clock.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { limits } from "../../../../runtime/limits.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import type { PodRuntime } from "../../components/kubelet/pod-runtime.ts";
import { badRequest, fault, invalid, notFound } from "../objects/refusals.ts";
import { peer, Refused, statusOf } from "../objects/refused.ts";
import type { Plain } from "../schema/shape.ts";
import type { Served } from "../served-kinds.ts";
import { type DryServer, readSelection, type Server } from "../server.ts";
import { type ApiAnswer, type Call, isTrue, jsonAnswer, verbOf } from "./api-request.ts";
import type { FaultState } from "./faults.ts";
import { describeGroup } from "./groups.ts";
import { listPage } from "./lists.ts";
import { proxyTo, readLog } from "./pods.ts";
import { readRoute } from "./route.ts";
import type { Watches } from "./watches.ts";

interface ServeDeps {
  readonly server: Server;
  readonly runtime: PodRuntime;
  readonly watches: Watches;
  readonly faults: FaultState;
  readonly clock: Clock;
}

export type Serve = (request: SentRequest) => Promise<ApiAnswer>;

export function createServe(deps: ServeDeps): Serve {
  const { faults, clock } = deps;
  return async (request) => {
    if (faults.delayMs > 0) await sleep(clock, faults.delayMs, request.signal);
    try {
      return await answer(request, deps);
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
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
    deps.faults.check({ verb: "get", resource: path, path: request.path });
    if (path === "/version") return jsonAnswer(version);
    const offered = describeGroup(deps.server.served, path);
    if (offered) return jsonAnswer(offered);
    return { status: 404, headers: plainText, body: "404 page not found\n" };
  }
  const call: Call = { ...request, route, query, verb: verbOf(request.method, route, query) };
  const asked = { verb: call.verb, resource: resourceOf({ ...route, kind: "", namespaced: true }), path };
  deps.faults.check(asked);
  const served = deps.server.served.of(route);
  if (served) {
    const given = await answerFor(served, call, deps);
    // The request was done, and nobody will hear of it.
    if (deps.faults.loses(asked)) throw connectionError(new Error("socket hang up"), request, peer);
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
    throw new Refused(413, "RequestEntityTooLarge", message);
  }
  if (bytes > mostStoredBytes && !smallKinds.has(kind.plural)) {
    throw new Refused(500, "", "etcdserver: request is too large");
  }
}

async function answerFor(served: Served, call: Call, deps: ServeDeps): Promise<ApiAnswer> {
  checkSize(call, served);
  const { route, verb } = call;
  const { namespace, name, below } = route;
  if (name === undefined) return answerCollection(served, call, deps);
  const at = { namespace, name };
  if (served.kind.group === "" && (route.plural === "pods" || route.plural === "services")) {
    if (below === "proxy" || below?.startsWith("proxy/")) return proxyTo(deps, route.plural, at, call);
    if (below === "log" && route.plural === "pods") return readLog(deps, at, call);
  }
  const subresource = subresourceOf(served, below);
  if (verb === "get") {
    const found = deps.server.store.get(served, at);
    if (!found) throw notFound(served.kind, name);
    return jsonAnswer(found);
  }
  if (verb === "delete" && below === undefined) return answerDelete(served, at, call, deps);
  const manager = managerOf(call);
  if (verb === "update") {
    return jsonAnswer(writerOf(call, deps).update(served, placed(readObject(call), at), { manager, subresource }));
  }
  if (verb === "patch") return answerPatch(served, at, call, deps, subresource);
  throw new Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

function answerCollection(served: Served, call: Call, deps: ServeDeps): ApiAnswer {
  const { server, watches, faults } = deps;
  const { route, query, verb } = call;
  const { namespace } = route;
  if (verb === "create") {
    const object = writerOf(call, deps).create(served, placed(readObject(call), { namespace }), {
      manager: managerOf(call),
    });
    return jsonAnswer(object, 201);
  }
  const labelSelector = query.get("labelSelector") ?? undefined;
  const fieldSelector = query.get("fieldSelector") ?? undefined;
  const wanted = readSelection(served, { namespace, labelSelector, fieldSelector });
  if (verb === "watch") {
    const seconds = Number(query.get("timeoutSeconds"));
    const body = watches.open({
      served,
      wanted,
      from: query.get("resourceVersion") ?? undefined,
      lastsMs: seconds > 0 ? seconds * 1_000 : limits.simulatedWatchMs,
      bookmarks: isTrue(query.get("allowWatchBookmarks")),
    });
    return { status: 200, headers: { "content-type": "application/json" }, body };
  }
  if (verb !== "list") throw noSuchResource();
  const limit = Number(query.get("limit")) || undefined;
  const next = query.get("continue") || undefined;
  return jsonAnswer(listPage(server.store, faults, { served, wanted, limit, next }));
}

function answerPatch(
  served: Served,
  at: ObjectAt,
  call: Call,
  deps: ServeDeps,
  subresource: "status" | "finalize" | undefined,
): ApiAnswer {
  const type = call.headers["content-type"] ?? "";
  const isJsonPatch = type.startsWith("application/json-patch+json");
  const body = isJsonPatch ? readOperations(call) : readObject(call);
  if (isJsonPatch || type.startsWith("application/merge-patch+json")) {
    return jsonAnswer(writerOf(call, deps).patch(served, at, body, { manager: managerOf(call), subresource }));
  }
  if (!type.startsWith("application/apply-patch+yaml") || subresource === "finalize") {
    throw new Refused(415, "UnsupportedMediaType", `the body of the request was in an unknown format - ${type}`);
  }
  const manager = call.query.get("fieldManager");
  if (!manager) throw invalid(patchOptions, "", [managerRequired]);
  const isNew = deps.server.store.get(served, at) === undefined;
  const force = isTrue(call.query.get("force"));
  const object = writerOf(call, deps).apply(served, placed(body as Plain, at), { manager, force, subresource });
  return jsonAnswer(object, isNew ? 201 : 200);
}

const patchOptions = { group: "meta.k8s.io", version: "v1", kind: "PatchOptions", plural: "", namespaced: false };
const managerRequired = fault("Required", "fieldManager", undefined, "is required for apply patch");

/** Some kinds give the object itself back when it goes. */
const answersWithObject = new Set([
  "namespaces",
  "pods",
  "services",
  "serviceaccounts",
  "persistentvolumes",
  "persistentvolumeclaims",
  "storageclasses.storage.k8s.io",
  "csinodes.storage.k8s.io",
]);

function answerDelete(served: Served, at: ObjectAt, call: Call, deps: ServeDeps): ApiAnswer {
  const { gone, object } = writerOf(call, deps).delete(served, at, deleteOptions(call));
  if (!gone || answersWithObject.has(resourceOf(served.kind))) return jsonAnswer(object);
  const details = { name: at.name, kind: served.kind.plural, uid: object.metadata.uid };
  return jsonAnswer({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

function deleteOptions(call: Call): DeleteOptions {
  const { preconditions, gracePeriodSeconds, propagationPolicy } = call.body?.length ? readObject(call) : {};
  const options = { ...fieldsOf(preconditions), graceSeconds: gracePeriodSeconds, propagation: propagationPolicy };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function subresourceOf({ hasStatus, kind }: Served, below: string | undefined): "status" | "finalize" | undefined {
  if (below === undefined) return undefined;
  if (below === "status" && hasStatus) return below;
  if (below === "finalize" && kind.kind === "Namespace") return below;
  throw noSuchResource();
}

/** With `dryRun` nothing is changed; of a deletion it may stand in the body too. */
function writerOf(call: Call, { server }: ServeDeps): DryServer {
  const inBody = call.verb === "delete" && call.body?.length ? listOf(readObject(call)["dryRun"]) : [];
  return [...call.query.getAll("dryRun"), ...inBody].includes("All") ? server.dry : server;
}

/** Where the object is, is said by the address. */
function placed(object: Plain, at: { readonly namespace?: string | undefined }): KubeObject {
  const metadata = fieldsOf(object["metadata"]) as unknown as ObjectMeta;
  return { ...object, metadata: { ...metadata, ...(at.namespace === undefined ? {} : { namespace: at.namespace }) } };
}

/** Without a name of one's own, the program's. */
function managerOf({ query, headers }: Call): string {
  return query.get("fieldManager") ?? headers["user-agent"]?.split("/")[0] ?? "unknown";
}

function readObject(call: Call): Plain {
  const read = readBody(call);
  if (isRecord(read)) return read;
  throw badRequest("the body of the request is no object");
}

function readOperations(call: Call): readonly unknown[] {
  const read = readBody(call);
  if (Array.isArray(read)) return read;
  throw badRequest("the body of the request is no list of operations");
}

function readBody({ body = "" }: Call): unknown {
  return parseJson(typeof body === "string" ? body : Buffer.from(body).toString());
}

function noSuchResource(): Refused {
  return new Refused(404, "NotFound", "the server could not find the requested resource", {});
}
