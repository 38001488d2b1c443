/**
 * Who owns which fields of an object, and what server-side apply makes of that. The rules are those of Kubernetes'
 * structured merge: an update owns what it changes, an apply owns what it gives.
 */
import type { KubeObject, ManagedFields } from "../../../../kube/kube.ts";
import { StatusError } from "../objects/status-error.ts";
import type { Plain, Shape } from "../schema/shape.ts";
import { type Comparison, compare } from "./compare.ts";
import { equal } from "./equal.ts";
import {
  difference,
  type FieldSet,
  givenFields,
  intersection,
  isEmpty,
  noFields,
  pathsOf,
  singleField,
  union,
  withNamedFields,
  without,
} from "./field-set.ts";
import { merge, remove } from "./merge.ts";

export interface FieldWriter {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
  /** RFC 3339 */
  readonly time: string;
}

interface Entry extends Omit<FieldWriter, "time"> {
  readonly operation: "Apply" | "Update";
  /** Absent where it was applied without changing anything. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Fields that the server itself maintains have no owner. */
const identity: FieldSet = [
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["metadata", name]),
].reduce<FieldSet>((set, path) => union(set, singleField(...path)), noFields);

/** The owners after an object was replaced; a new one replaces an empty one. `ignored` is what cannot be written so. */
export function ownersAfterUpdate(
  live: KubeObject,
  next: KubeObject,
  writer: FieldWriter,
  { shape, ignored }: { readonly shape: Shape; readonly ignored: FieldSet },
  owners: readonly ManagedFields[] = live.metadata.managedFields ?? [],
): ManagedFields[] {
  const found = compare(unmanaged(live), unmanaged(next), shape);
  const changes: Comparison = {
    added: without(found.added, ignored),
    modified: without(found.modified, ignored),
    removed: without(found.removed, ignored),
  };
  const lost = union(changes.removed, union(changes.modified, changes.added));
  const before = readEntries(owners);
  const own = before.find((entry) => isOf(entry, writer, "Update"));
  const taken = difference(union(changes.modified, changes.added), identity);
  const others = before.map((entry) => ({ ...entry, fields: difference(entry.fields, lost) }));
  if (isEmpty(taken)) return writeEntries(others);
  const fields = union(own ? difference(own.fields, changes.removed) : noFields, taken);
  const rest = others.filter((entry) => !isOf(entry, writer, "Update"));
  return writeEntries([...rest, { ...writer, operation: "Update", fields }]);
}

interface ApplyRequest extends FieldWriter {
  readonly force: boolean;
}

/** The object and its owners after an apply; a field that another one owns and that would change is a conflict. */
export function applied(
  live: KubeObject,
  desired: KubeObject,
  request: ApplyRequest,
  { shape, ignored }: { readonly shape: Shape; readonly ignored: FieldSet },
): { readonly object: Plain; readonly managedFields: ManagedFields[] } {
  const before = readEntries(live.metadata.managedFields ?? []);
  const own = before.find((entry) => isOf(entry, request, "Apply"));
  const others = before.filter((entry) => entry !== own);
  const present = unmanaged(live);
  const given = without(givenFields(desired, shape), ignored);
  const owned = [...others.map(({ fields }) => fields), given].reduce(union, noFields);
  const object = prune(merge(present, desired, shape), own?.fields ?? noFields, owned, shape);
  const { added, modified, removed } = compare(present, object, shape);
  const touched = without(union(added, modified), ignored);
  if (!request.force) rejectConflicts(others, touched);
  const rest = others.map((entry) => ({ ...entry, fields: difference(difference(entry.fields, touched), removed) }));
  const { force: _, ...writer } = request;
  const time = equal(present, object) ? own?.time : request.time;
  const entry: Entry = { ...writer, time, operation: "Apply", fields: difference(given, identity) };
  return { object, managedFields: writeEntries([...rest, entry]) };
}

/** Removes fields that the manager applied before and no longer does, unless another manager owns them too. */
function prune(merged: unknown, last: FieldSet, owned: FieldSet, shape: Shape): Plain {
  if (isEmpty(last)) return merged as Plain;
  const named = (set: FieldSet) => withNamedFields(set, shape);
  const fieldsOf = (value: unknown) => named(givenFields(value, shape));
  const all = fieldsOf(merged);
  const withoutLast = remove(merged, named(last), shape);
  const unowned = difference(all, union(fieldsOf(withoutLast), named(owned)));
  const kept = remove(merged, unowned, shape);
  // A field without an owner, or owned by an update, is not the manager's to remove.
  return (remove(merged, intersection(difference(all, fieldsOf(kept)), named(last)), shape) ?? {}) as Plain;
}

function rejectConflicts(others: readonly Entry[], touched: FieldSet): void {
  const conflicts = others
    .map((entry) => ({ who: textOf(entry), paths: [...pathsOf(intersection(entry.fields, touched))] }))
    .filter(({ paths }) => paths.length > 0);
  const reason = "FieldManagerConflict";
  const causes = conflicts.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason, message: `conflict with ${who}`, field })),
  );
  const [first] = causes;
  if (!first) return;
  const lines = conflicts.map(({ who, paths }) => [`conflicts with ${who}:`, ...paths].join("\n- ")).sort();
  const many = `${causes.length} conflicts: ${lines.join("\n")}`;
  const said = causes.length === 1 ? `1 conflict: ${first.message}: ${first.field}` : many;
  throw new StatusError(409, "Conflict", `Apply failed with ${said}`, { causes });
}

function textOf({ manager, operation, subresource, apiVersion }: Entry): string {
  const who = subresource ? `"${manager}" with subresource "${subresource}"` : `"${manager}"`;
  return operation === "Update" ? `${who} using ${apiVersion}` : who;
}

function isOf(entry: Entry, { manager, apiVersion, subresource }: FieldWriter, operation: "Apply" | "Update"): boolean {
  if (entry.manager !== manager || entry.operation !== operation || entry.subresource !== subresource) return false;
  return operation === "Apply" || entry.apiVersion === apiVersion;
}

function unmanaged(object: KubeObject): Plain {
  if (!object.metadata.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function readEntries(managedFields: readonly ManagedFields[]): Entry[] {
  return managedFields.map(({ fieldsV1, ...entry }) => ({ ...entry, fields: fieldsV1 ?? noFields }) as Entry);
}

/** Appliers first, then by time and name, as the server orders them. */
function writeEntries(entries: readonly Entry[]): ManagedFields[] {
  return entries
    .filter(({ fields }) => !isEmpty(fields))
    .sort((a, b) => compareText(keyOf(a), keyOf(b)))
    .map(({ fields, manager, operation, apiVersion, time, subresource }) => ({
      manager,
      operation,
      apiVersion,
      ...(time === undefined ? {} : { time }),
      fieldsType: "FieldsV1",
      fieldsV1: fields,
      ...(subresource === undefined ? {} : { subresource }),
    }));
}

function keyOf({ operation, time = "", manager, apiVersion, subresource = "" }: Entry): string {
  return `${operation} ${time} ${manager} ${apiVersion} ${subresource}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
