/** "spec.nodeName=one,status.phase!=Failed": which fields an object must have, where the API server knows them. */

import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import type { Test } from "./label-selector.ts";
import { Refused } from "./refused.ts";

const common = ["metadata.name", "metadata.namespace"];

const regarding = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

/** What each kind knows beyond its name. */
const known: Readonly<Record<string, readonly string[]>> = {
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  nodes: ["spec.unschedulable"],
  namespaces: ["status.phase"],
  secrets: ["type"],
  services: ["spec.clusterIP", "spec.type"],
  "replicasets.apps": ["status.replicas"],
  "events.events.k8s.io": [...regarding.map((field) => `regarding.${field}`), "reason", "reportingController", "type"],
};

export function readFieldSelector(text: string, kind: Kind, more: readonly string[] = []): Test<KubeObject> {
  const fields = [...common, ...(known[resourceOf(kind)] ?? []), ...more];
  const terms = text
    .split(",")
    .filter(Boolean)
    .map((term) => readTerm(term, fields));
  return (object) => terms.every((holds) => holds(object));
}

function readTerm(term: string, fields: readonly string[]): Test<KubeObject> {
  const [, field, sign, wanted = ""] = /^([^=!]+?)\s*(==?|!=)\s*(.*)$/.exec(term.trim()) ?? [];
  if (field === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  if (!fields.includes(field)) {
    const names = fields.map((name) => `"${name}"`).join(", ");
    throw badRequest(`"${field}" is not a known field selector: only ${names}`);
  }
  const path = field.split(".");
  const isWanted = (object: KubeObject) => textAt(object, path, field) === wanted;
  return sign === "!=" ? (object) => !isWanted(object) : isWanted;
}

/** What is not there reads as Go's zero value. */
function textAt(object: KubeObject, path: readonly string[], field: string): string {
  const found = path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), object);
  return String(found ?? zeros[field] ?? "");
}

const zeros: Readonly<Record<string, string>> = {
  "spec.unschedulable": "false",
  "spec.hostNetwork": "false",
  "status.replicas": "0",
};

function badRequest(message: string): Refused {
  return new Refused(400, "BadRequest", message);
}
