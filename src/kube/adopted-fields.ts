/**
 * Whose the fields are of what the network's provider made before us. It wrote with updates; until they are moved to our
 * own entry, a field that we do not want stays for ever, for an apply removes only what its manager owns.
 */
import { isRecord } from "../runtime/is-record.ts";
import type { ManagedFields, ObjectMeta } from "./kube.ts";
import { isAppliedBy } from "./owned-fields.ts";

/** The name under which the network's own provider writes. */
export const networksProvider = "provider-services";

/** What the network's provider owns of an object, as it wrote it; undefined where that is nothing. */
export function networksEntry({ managedFields = [] }: Pick<ObjectMeta, "managedFields">): ManagedFields | undefined {
  return managedFields.find((entry) => isUpdateOf(entry, networksProvider));
}

/**
 * The owners once all that the network's provider and our own patches wrote is in our one entry; undefined where it is so
 * already. What controllers write to the status stays theirs.
 */
export function adoptedFields(
  { managedFields = [] }: Pick<ObjectMeta, "managedFields">,
  fieldManager: string,
  apiVersion: string,
): ManagedFields[] | undefined {
  const isMoved = (entry: ManagedFields) => isUpdateOf(entry, networksProvider) || isUpdateOf(entry, fieldManager);
  const moved = managedFields.filter(isMoved);
  if (moved.length === 0) return undefined;
  const isOwn = (entry: ManagedFields) => isAppliedBy(entry, fieldManager);
  const fieldsV1 = [...managedFields.filter(isOwn), ...moved].reduce<Fields>(
    (all, entry) => joined(all, entry.fieldsV1 ?? {}),
    {},
  );
  const ours = { manager: fieldManager, operation: "Apply", apiVersion, fieldsType: "FieldsV1" };
  const [{ time }] = moved as [ManagedFields];
  const rest = managedFields.filter((entry) => !isMoved(entry) && !isOwn(entry));
  return [{ ...ours, ...(time !== undefined && { time }), fieldsV1: withoutGiven(fieldsV1) }, ...rest];
}

function isUpdateOf({ manager, operation, subresource }: ManagedFields, name: string): boolean {
  return manager === name && operation === "Update" && !subresource;
}

/** What the server gave: a Service's, which its tenant told others, and a namespace's label. Were it ours, it would go with our next apply. */
const given = new Set([
  ...["f:nodePort", "f:healthCheckNodePort", "f:clusterIP", "f:clusterIPs"],
  "f:kubernetes.io/metadata.name",
]);

function withoutGiven(fields: Fields): Fields {
  const kept = Object.entries(fields).filter(([step]) => !given.has(step));
  return Object.fromEntries(kept.map(([step, below]) => [step, isRecord(below) ? withoutGiven(below) : below]));
}

type Fields = Readonly<Record<string, unknown>>;

/** Who owns nothing below a field owns the field itself, which beside others below it is written as ".". */
function joined(a: Fields, b: Fields): Fields {
  const all: Record<string, unknown> = { ...a };
  for (const [step, below] of Object.entries(b)) {
    const there = Object.hasOwn(all, step) ? all[step] : undefined;
    all[step] = isRecord(there) && isRecord(below) ? joinedBelow(there, below) : below;
  }
  return all;
}

function joinedBelow(a: Fields, b: Fields): Fields {
  const isItself = (fields: Fields) => Object.keys(fields).length === 0;
  if (isItself(a) && isItself(b)) return {};
  return joined(isItself(a) || isItself(b) ? { ".": {} } : {}, joined(a, b));
}
