/** Rejections in the words of the API server. */
import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { StatusError } from "./status-error.ts";

export function notFound(kind: Kind, name: string): StatusError {
  return new StatusError(404, "NotFound", `${resourceOf(kind)} "${name}" not found`, about(kind, name));
}

export function alreadyExists(kind: Kind, { metadata }: KubeObject): StatusError {
  const { name, deletionTimestamp } = metadata;
  const message = `${deletionTimestamp ? "object is being deleted: " : ""}${resourceOf(kind)} "${name}" already exists`;
  return new StatusError(409, "AlreadyExists", message, about(kind, name));
}

export function conflict(kind: Kind, name: string, reason: string): StatusError {
  const message = `Operation cannot be fulfilled on ${resourceOf(kind)} "${name}": ${reason}`;
  return new StatusError(409, "Conflict", message, about(kind, name));
}

/** Another object has the name, or none has it any more. */
export function otherUid(kind: Kind, name: string, wanted: string, live = ""): StatusError {
  return conflict(kind, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${live}`);
}

/** Where something is to be deleted, the server names the kind and not the resource. */
export function otherToDelete(kind: Kind, name: string, reason: string): StatusError {
  const message = `Operation cannot be fulfilled on ${kind.kind} "${name}": ${reason}`;
  return new StatusError(409, "Conflict", message, { name, kind: kind.kind });
}

export const modifiedSince =
  "the object has been modified; please apply your changes to the latest version and try again";

export function forbidden(kind: Kind, name: string, reason: string, more: object = {}): StatusError {
  const message = `${resourceOf(kind)} "${name}" is forbidden: ${reason}`;
  return new StatusError(403, "Forbidden", message, { ...about(kind, name), ...more });
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

const says = {
  Invalid: "Invalid value",
  Required: "Required value",
  Forbidden: "Forbidden",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  NotFound: "Not found",
  TypeInvalid: "Invalid type of value",
  TooLong: "Too long",
  TooMany: "Too many",
} as const;

export type FaultReason = keyof typeof says;

export interface Fault {
  readonly field: string;
  readonly reason: `FieldValue${FaultReason}`;
  readonly message: string;
}

export function fault(reason: FaultReason, field: string, value?: unknown, why?: string): Fault {
  const parts = [says[reason], ...(value === undefined ? [] : [JSON.stringify(value)]), ...(why ? [why] : [])];
  return { field, reason: `FieldValue${reason}`, message: parts.join(": ") };
}

export function invalid(kind: Kind, name: string, faults: readonly Fault[]): StatusError {
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const what = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const details = { name, kind: kind.kind, ...groupOf(kind), causes: faults };
  return new StatusError(422, "Invalid", `${what} "${name}" is invalid: ${list}`, details);
}

function about(kind: Kind, name: string) {
  return { name, kind: kind.plural, ...groupOf(kind) };
}

function groupOf({ group }: Kind): { group?: string } {
  return group === "" ? {} : { group };
}
