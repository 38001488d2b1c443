/** Refusals in the words of the API server. */
import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { Refused } from "./refused.ts";

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

/** Where something is to be deleted, the server names the kind and not the resource. */
export function otherToDelete(kind: Kind, name: string, reason: string): Refused {
  const message = `Operation cannot be fulfilled on ${kind.kind} "${name}": ${reason}`;
  return new Refused(409, "Conflict", message, { name, kind: kind.kind });
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
  readonly reason: `FieldValue${"Invalid" | "Required" | "Forbidden" | "NotSupported" | "Duplicate" | "TypeInvalid" | "TooLong" | "TooMany" | "NotFound"}`;
  readonly message: string;
}

export function wrong(field: string, value: unknown, why: string): Fault {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

export function required(field: string, why = ""): Fault {
  return { field, reason: "FieldValueRequired", message: `Required value${why && `: ${why}`}` };
}

export function prohibited(field: string, why: string): Fault {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${why}` };
}

export function duplicate(field: string, value: unknown): Fault {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${JSON.stringify(value)}` };
}

export function notThere(field: string, value: unknown): Fault {
  return { field, reason: "FieldValueNotFound", message: `Not found: ${JSON.stringify(value)}` };
}

export function tooLong(field: string, most: unknown): Fault {
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${most} bytes` };
}

export function unsupported(field: string, value: unknown, values: readonly unknown[]): Fault {
  const known = values.map((each) => JSON.stringify(each)).join(", ");
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${known}`;
  return { field, reason: "FieldValueNotSupported", message };
}

export function invalid(kind: Kind, name: string, faults: readonly Fault[]): Refused {
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const what = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const details = { name, kind: kind.kind, ...groupOf(kind), causes: faults };
  return new Refused(422, "Invalid", `${what} "${name}" is invalid: ${list}`, details);
}

function about(kind: Kind, name: string) {
  return { name, kind: kind.plural, ...groupOf(kind) };
}

function groupOf({ group }: Kind): { group?: string } {
  return group === "" ? {} : { group };
}
