/** Refusals in the words of the API server. */
import { type Kind, resourceOf } from "../../kinds.ts";
import type { KubeObject } from "../../kube.ts";
import { Refused } from "../refused.ts";

export function notFound(kind: Kind, name: string): Refused {
  return new Refused(404, "NotFound", `${resourceOf(kind)} "${name}" not found`, about(kind, name));
}

export function alreadyExists(kind: Kind, { metadata }: KubeObject): Refused {
  const { name, deletionTimestamp } = metadata;
  const message = `${deletionTimestamp ? "object is being deleted: " : ""}${resourceOf(kind)} "${name}" already exists`;
  return new Refused(409, "AlreadyExists", message, about(kind, name));
}

export function conflict(kind: Kind, name: string, reason: string): Refused {
  const message = `Operation cannot be fulfilled on ${resourceOf(kind)} "${name}": ${reason}`;
  return new Refused(409, "Conflict", message, about(kind, name));
}

/** Another object has the name, or none has it any more. */
export function otherUid(kind: Kind, name: string, wanted: string, live = ""): Refused {
  return conflict(kind, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${live}`);
}

export const modifiedSince =
  "the object has been modified; please apply your changes to the latest version and try again";

export function forbidden(kind: Kind, name: string, reason: string, more: object = {}): Refused {
  const message = `${resourceOf(kind)} "${name}" is forbidden: ${reason}`;
  return new Refused(403, "Forbidden", message, { ...about(kind, name), ...more });
}

export function badRequest(message: string): Refused {
  return new Refused(400, "BadRequest", message);
}

export interface Fault {
  readonly field: string;
  readonly reason: "FieldValueInvalid" | "FieldValueRequired" | "FieldValueForbidden";
  readonly message: string;
}

export function invalid(kind: Kind, name: string, faults: readonly Fault[]): Refused {
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const what = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const details = { name, kind: kind.kind, ...groupOf(kind), causes: faults };
  return new Refused(422, "Invalid", `${what} "${name}" is invalid: ${list}`, details);
}

export function immutable(field: string): Fault {
  return { field, reason: "FieldValueInvalid", message: "Invalid value: field is immutable" };
}

function about(kind: Kind, name: string) {
  return { name, kind: kind.plural, ...groupOf(kind) };
}

function groupOf({ group }: Kind): { group?: string } {
  return group === "" ? {} : { group };
}
