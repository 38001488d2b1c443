/** "spec.nodeName=one,status.phase!=Failed": which fields an object must have, where the API server knows them. */

import { fieldsOf } from "../../../../kube/json-fields.ts";
import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import type { Test } from "./label-selector.ts";
import { badRequest } from "./rejections.ts";

const regarding = ["kind", "namespace", "name", "uid"].map((field) => `regarding.${field}`);

/** What each kind knows beyond its name. */
const known: Readonly<Record<string, readonly string[]>> = {
  pods: ["spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase"],
  namespaces: ["status.phase"],
  secrets: ["type"],
  "events.events.k8s.io": [...regarding, "reason", "reportingController", "type"],
};

export function readFieldSelector(text: string, kind: Kind): Test<KubeObject> {
  const fields = ["metadata.name", "metadata.namespace", ...(known[resourceOf(kind)] ?? [])];
  const terms = text.split(",").filter(Boolean);
  const tests = terms.map((term) => readTerm(term, fields));
  return (object) => tests.every((holds) => holds(object));
}

function readTerm(term: string, fields: readonly string[]): Test<KubeObject> {
  const [, field, sign, wanted = ""] = /^([^=!]+?)\s*(==?|!=)\s*(.*)$/.exec(term.trim()) ?? [];
  if (field === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  if (!fields.includes(field)) {
    const names = fields.map((name) => `"${name}"`).join(", ");
    throw badRequest(`"${field}" is not a known field selector: only ${names}`);
  }
  const path = field.split(".");
  const isWanted = (object: KubeObject) => textAt(object, path) === wanted;
  return sign === "!=" ? (object) => !isWanted(object) : isWanted;
}

function textAt(object: KubeObject, path: readonly string[]): string {
  return String(path.reduce<unknown>((at, name) => fieldsOf(at)[name], object) ?? "");
}
