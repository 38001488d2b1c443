/** Answers requests as the API server does over HTTP, without any wire. */

import { fieldsOf } from "../../../../kube/json-fields.ts";
import { resourceOf } from "../../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, ObjectMeta } from "../../../../kube/kube.ts";
import { type Clock, sleep } from "../../../../runtime/clock.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { limits } from "../../../../runtime/limits.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import type { PodRuntime } from "../../parts/kubelet/pod-runtime.ts";
import { badRequest, fault, invalid } from "../objects/refusals.ts";
import { Refused } from "../objects/refused.ts";
import type { Plain } from "../schema/shape.ts";
import type { Served } from "../served-kinds.ts";
import { readSelection, type Server } from "../server.ts";
import { type ApiAnswer, type ApiRequest, type Call, isTrue, jsonAnswer, verbOf } from "./api-request.ts";
import type { FaultState } from "./faults.ts";
import { listPage } from "./lists.ts";
import { proxyTo, readLog } from "./pods.ts";
import { readRoute } from "./route.ts";
import { statusOf } from "./status.ts";
import type { Watches } from "./watches.ts";

export interface ServeDeps {
  readonly server: Server;
  readonly runtime: PodRuntime;
  readonly watches: Watches;
  readonly faults: FaultState;
  readonly clock: Clock;
}

export type Serve = (request: ApiRequest) => Promise<ApiAnswer>;

/** The request was done or refused, and nobody will hear of it. */
export class AnswerLost extends Error {
  override readonly name = "AnswerLost";

  constructor() {
    super("socket hang up");
  }
}

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

async function answer(request: ApiRequest, deps: ServeDeps): Promise<ApiAnswer> {
  const [path = "", search = ""] = request.path.split("?", 2);
  const query = new URLSearchParams(search);
  const route = readRoute(path);
  if (!route) {
    deps.faults.check({ verb: "get", resource: path, path: request.path });
    if (path === "/version") return jsonAnswer(version);
    return { status: 404, headers: plainText, body: "404 page not found\n" };
  }
  const call: Call = { ...request, route, query, verb: verbOf(request.method, route, query) };
  const asked = { verb: call.verb, resource: resourceOf({ ...route, kind: "", namespaced: true }), path };
  deps.faults.check(asked);
  const served = deps.server.served.of(route);
  if (served) {
    const given = await answerFor(served, call, deps);
    if (deps.faults.loses(asked)) throw new AnswerLost();
    return given;
  }
  // A group that has nothing at all is not even known to be one.
  if (deps.server.served.knowsGroup(route.group, route.version)) throw noSuchResource();
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
  if (verb === "get") return jsonAnswer(deps.server.store.get(served, at) ?? missing(served, name));
  if (verb === "delete" && below === undefined) return answerDelete(served, at, call, deps);
  const manager = managerOf(call);
  if (verb === "update") {
    return jsonAnswer(deps.server.update(served, placed(readObject(call), at), { manager, subresource }));
  }
  if (verb === "patch") return answerPatch(served, at, call, deps, subresource);
  throw new Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

function answerCollection(served: Served, call: Call, { server, watches, faults }: ServeDeps): ApiAnswer {
  const { route, query, verb } = call;
  const { namespace } = route;
  if (verb === "create") {
    const object = server.create(served, placed(readObject(call), { namespace }), { manager: managerOf(call) });
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
  const isSelective = labelSelector !== undefined || fieldSelector !== undefined;
  return jsonAnswer(listPage(server.store, faults, { served, wanted, limit, next, isSelective }));
}

function answerPatch(
  served: Served,
  at: ObjectAt,
  call: Call,
  { server }: ServeDeps,
  subresource: "status" | "finalize" | undefined,
): ApiAnswer {
  const type = call.headers["content-type"] ?? "";
  const body = readObject(call);
  if (type.startsWith("application/merge-patch+json")) {
    return jsonAnswer(server.patch(served, at, body, { manager: managerOf(call), subresource }));
  }
  if (!type.startsWith("application/apply-patch+yaml") || subresource !== undefined) {
    throw new Refused(415, "UnsupportedMediaType", `the body of the request was in an unknown format - ${type}`);
  }
  const manager = call.query.get("fieldManager");
  if (!manager) throw invalid(patchOptions, "", [managerRequired]);
  const isNew = server.store.get(served, at) === undefined;
  const force = isTrue(call.query.get("force"));
  const object = server.apply(served, placed(body, at), { manager, force });
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

function answerDelete(served: Served, at: ObjectAt, call: Call, { server }: ServeDeps): ApiAnswer {
  const { gone, object } = server.delete(served, at, deleteOptions(call));
  if (!gone || answersWithObject.has(resourceOf(served.kind))) return jsonAnswer(object);
  const details = { name: at.name, kind: served.kind.plural, uid: object.metadata.uid };
  return jsonAnswer({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

function deleteOptions({ body, query }: Call): DeleteOptions {
  const read = body === undefined || body.length === 0 ? {} : parse(body);
  const { uid, resourceVersion } = fieldsOf(read["preconditions"]);
  const grace = read["gracePeriodSeconds"] ?? query.get("gracePeriodSeconds") ?? undefined;
  const propagation = read["propagationPolicy"] ?? query.get("propagationPolicy") ?? undefined;
  return {
    ...(uid === undefined ? {} : { uid: String(uid) }),
    ...(resourceVersion === undefined ? {} : { resourceVersion: String(resourceVersion) }),
    ...(grace === undefined ? {} : { graceSeconds: Number(grace) }),
    ...(propagation === undefined ? {} : { propagation: String(propagation) as "Background" }),
  };
}

function subresourceOf({ hasStatus, kind }: Served, below: string | undefined): "status" | "finalize" | undefined {
  if (below === undefined) return undefined;
  if (below === "status" && hasStatus) return below;
  if (below === "finalize" && kind.kind === "Namespace") return below;
  throw noSuchResource();
}

/** Where the object is, is said by the address; what it says itself must agree. */
function placed(object: Plain, at: { readonly namespace?: string | undefined; readonly name?: string }): KubeObject {
  const metadata = fieldsOf(object["metadata"]) as unknown as ObjectMeta;
  checkPlace(metadata, at);
  const { namespace } = at;
  return { ...object, metadata: { ...metadata, ...(namespace === undefined ? {} : { namespace }) } };
}

function checkPlace(sent: ObjectMeta, at: { readonly namespace?: string | undefined; readonly name?: string }): void {
  if (at.namespace !== undefined && sent.namespace !== undefined && sent.namespace !== at.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (at.name !== undefined && sent.name !== at.name) {
    throw badRequest(`the name of the object (${sent.name}) does not match the name on the URL (${at.name})`);
  }
}

/** Without a name of one's own, the program's. */
function managerOf({ query, headers }: Call): string {
  return query.get("fieldManager") ?? headers["user-agent"]?.split("/")[0] ?? "unknown";
}

function readObject({ body }: Call): Plain {
  if (body === undefined) throw badRequest("the request has no body");
  return parse(body);
}

function parse(body: string | Uint8Array): Plain {
  const read = parseJson(typeof body === "string" ? body : Buffer.from(body).toString());
  if (isRecord(read)) return read;
  throw badRequest("the body of the request is no object");
}

function missing({ kind }: Served, name: string): never {
  throw new Refused(404, "NotFound", `${resourceOf(kind)} "${name}" not found`, { name, kind: kind.plural });
}

function noSuchResource(): Refused {
  return new Refused(404, "NotFound", "the server could not find the requested resource", {});
}
