/** Answers to what writes: to a request that makes, changes or deletes an object, or only tries to. */
import { fieldsOf, listOf } from "../../../../kube/json-fields.ts";
import { kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, ObjectMeta } from "../../../../kube/kube.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import { podSecurityViolation } from "../objects/pod-security.ts";
import { badRequest, fault, invalid } from "../objects/rejections.ts";
import { StatusError } from "../objects/status-error.ts";
import type { Plain } from "../schema/shape.ts";
import { type Served, servedOf } from "../served-kinds.ts";
import type { DryServer, Server } from "../server.ts";
import { type ApiAnswer, type Call, isTrue, jsonAnswer } from "./api-request.ts";

interface WriteCall extends Call {
  readonly subresource: "status" | "finalize" | undefined;
}

export function answerWrite(served: Served, call: WriteCall, server: Server): ApiAnswer {
  const { route, verb, subresource } = call;
  const { namespace, name } = route;
  const manager = managerOf(call);
  if (verb === "create" && name === undefined) {
    const object = writerOf(call, server).create(served, placed(readObject(call), { namespace }), { manager });
    return written(served, object, server, 201);
  }
  if (name === undefined || verb === "create" || (verb === "delete" && subresource)) throw notAllowed();
  const at = { namespace, name };
  if (verb === "delete") return answerDelete(served, at, call, server);
  if (verb === "patch") return answerPatch(served, at, call, server);
  const sent = placed(readObject(call), at);
  return written(served, writerOf(call, server).update(served, sent, { manager, subresource }), server);
}

/** Pods that a workload would make, and that would be rejected, are warned of. */
function written(served: Served, object: KubeObject, { store, served: all }: Server, status = 200): ApiAnswer {
  const { template } = fieldsOf(object["spec"]);
  if (served.kind.group !== kinds.deployment.group || template === undefined) return jsonAnswer(object, status);
  const home = store.get(servedOf(all, kinds.namespace), { name: object.metadata.namespace ?? "" });
  const violation = podSecurityViolation(home, fieldsOf(template)["spec"]);
  if (violation === undefined) return jsonAnswer(object, status);
  const text = `would violate ${violation}`.replaceAll(/["\\]/g, (quote) => `\\${quote}`);
  return jsonAnswer(object, status, { warning: `299 - "${text}"` });
}

function notAllowed(): StatusError {
  return new StatusError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

function answerPatch(served: Served, at: ObjectAt, call: WriteCall, server: Server): ApiAnswer {
  const { subresource } = call;
  const type = call.headers["content-type"] ?? "";
  const isJsonPatch = type.startsWith("application/json-patch+json");
  const body = isJsonPatch ? readOperations(call) : readObject(call);
  if (isJsonPatch || type.startsWith("application/merge-patch+json")) {
    const object = writerOf(call, server).patch(served, at, body, { manager: managerOf(call), subresource });
    return written(served, object, server);
  }
  if (!type.startsWith("application/apply-patch+yaml") || subresource === "finalize") {
    throw new StatusError(415, "UnsupportedMediaType", `the body of the request was in an unknown format - ${type}`);
  }
  const manager = call.query.get("fieldManager");
  if (!manager) throw invalid(patchOptions, "", [managerRequired]);
  const isNew = server.store.get(served, at) === undefined;
  const force = isTrue(call.query.get("force"));
  const object = writerOf(call, server).apply(served, placed(body as Plain, at), { manager, force, subresource });
  return written(served, object, server, isNew ? 201 : 200);
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

function answerDelete(served: Served, at: ObjectAt, call: Call, server: Server): ApiAnswer {
  const { gone, object } = writerOf(call, server).delete(served, at, deleteOptions(call));
  if (!gone || answersWithObject.has(resourceOf(served.kind))) return jsonAnswer(object);
  const details = { name: at.name, kind: served.kind.plural, uid: object.metadata.uid };
  return jsonAnswer({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

function deleteOptions(call: Call): DeleteOptions {
  const { preconditions, gracePeriodSeconds, propagationPolicy } = call.body?.length ? readObject(call) : {};
  const options = { ...fieldsOf(preconditions), graceSeconds: gracePeriodSeconds, propagation: propagationPolicy };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** With `dryRun` nothing is changed; of a deletion it may stand in the body too. */
function writerOf(call: Call, server: Server): DryServer {
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
