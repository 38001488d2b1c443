/** Which fields of a live object are ours, by managedFields. */
import { ProviderError } from "../runtime/errors.ts";
import { isRecord } from "../runtime/is-record.ts";
import { apiVersionOf, type Kind } from "./kinds.ts";
import type {
  Kube,
  KubeObject,
  ManagedFields,
  ObjectAt,
  ObjectMeta,
  Owned,
  OwnedFields,
  OwnedRecord,
  PatchOperation,
} from "./kube.ts";

export type { Owned, OwnedFields, OwnedRecord } from "./kube.ts";

/** `of` is the subresource. */
export function isAppliedBy(
  { manager, operation, subresource }: ManagedFields,
  fieldManager: string,
  of?: "status",
): boolean {
  return manager === fieldManager && operation === "Apply" && (subresource || undefined) === of;
}

export function ownedFields(object: KubeObject, fieldManager: string, of?: "status"): OwnedFields {
  const { uid, resourceVersion, deletionTimestamp, managedFields = [] } = object.metadata;
  const paths = managedFields.find((entry) => isAppliedBy(entry, fieldManager, of))?.fieldsV1;
  // Metadata has no owner itself, so its fields are read even if none is ours.
  const metadata = ownedRecord(object.metadata, stepsOf(paths?.["f:metadata"]));
  const { fields } = ownedRecord(object, stepsOf(paths));
  const deleting = deletionTimestamp !== undefined;
  return { uid, resourceVersion, deleting, fields: { is: "record", fields: { ...fields, metadata } } };
}

type Step = readonly [step: string, below: unknown];

/** Of a fieldsV1 set: f:name is a field, k:{…} a list element by its key, v:… an element of a set. */
function owned(value: unknown, paths: unknown): Owned {
  const steps = stepsOf(paths);
  const [first] = steps;
  if (first === undefined) return { is: "whole", value };
  return first[0].startsWith("f:") ? ownedRecord(value, steps) : ownedList(value, steps, first[0]);
}

function stepsOf(paths: unknown): Step[] {
  return isRecord(paths) ? Object.entries(paths).filter(([step]) => step !== ".") : [];
}

const foreign: Owned = { is: "foreign" };

function ownedRecord(value: unknown, steps: readonly Step[]): OwnedRecord {
  const live = isRecord(value) ? value : {};
  const fields: Record<string, Owned> = {};
  for (const name in live) if (hasParts(live[name])) fields[name] = foreign;
  for (const [step, below] of steps) {
    const name = step.slice("f:".length);
    fields[name] = owned(Object.hasOwn(live, name) ? live[name] : undefined, below);
  }
  return { is: "record", fields };
}

function ownedList(value: unknown, steps: readonly Step[], first: string): Owned {
  const keyOf = elementKey(first);
  const missing = new Map(steps.map(([step, below]) => [keyOf(JSON.parse(step.slice(2))), below]));
  const elements: Owned[] = [];
  for (const element of Array.isArray(value) ? value : []) {
    const key = keyOf(element);
    if (!missing.has(key)) continue;
    elements.push(owned(element, missing.get(key)));
    missing.delete(key);
  }
  for (const _ of missing) elements.push({ is: "whole", value: undefined });
  return { is: "list", elements };
}

/** The key of list elements: some of their fields, which all steps name alike, or the whole element. */
function elementKey(step: string): (element: unknown) => string {
  if (!step.startsWith("k:")) return (element) => JSON.stringify(element);
  const names = Object.keys(JSON.parse(step.slice("k:".length)));
  return (element) => JSON.stringify(names.map((name) => (isRecord(element) ? element[name] : undefined)));
}

function hasParts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** The field manager of the Go provider. */
export const goProvider = "provider-services";

/** What the Go provider owns of an object. */
export function goProviderEntry({ managedFields = [] }: Pick<ObjectMeta, "managedFields">): ManagedFields | undefined {
  return managedFields.find((entry) => isUpdateOf(entry, goProvider));
}

/** The owners when all of the Go provider's and our updates is in our apply entry, which alone an apply can remove. Status stays. */
export function adoptedFields(
  { managedFields = [] }: Pick<ObjectMeta, "managedFields">,
  fieldManager: string,
  apiVersion: string,
): ManagedFields[] | undefined {
  const isMoved = (entry: ManagedFields) => isUpdateOf(entry, goProvider) || isUpdateOf(entry, fieldManager);
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

/** Assigned by the server: our next apply would remove them if we owned them. */
const given = new Set([
  ...["f:nodePort", "f:healthCheckNodePort", "f:clusterIP", "f:clusterIPs"],
  "f:kubernetes.io/metadata.name",
]);

function withoutGiven(fields: Fields): Fields {
  const kept = Object.entries(fields).filter(([step]) => !given.has(step));
  return Object.fromEntries(kept.map(([step, below]) => [step, isRecord(below) ? withoutGiven(below) : below]));
}

type Fields = Readonly<Record<string, unknown>>;

/** An empty set is the field itself, which beside fields below it is written as ".". */
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

/** Tries to adopt an object that others write to at the same time. */
const adoptTries = 4;

interface AdoptOptions {
  readonly also?: (live: KubeObject) => PatchOperation[];
  /** Also where neither the Go provider nor we own anything of it. */
  readonly isUnowned?: boolean;
  readonly signal: AbortSignal;
}

/** Returns the adopted object, undefined where there is none. `also` is written in the same patch. */
export async function adoptObject(
  kube: Pick<Kube, "get" | "patch" | "fieldManager">,
  kind: Kind,
  at: ObjectAt,
  { also = () => [], isUnowned = false, signal }: AdoptOptions,
): Promise<KubeObject | undefined> {
  for (let tries = 1; ; tries += 1) {
    const live = await kube.get(kind, at, { signal });
    const managedFields = live && adoptedFields(live.metadata, kube.fieldManager, apiVersionOf(kind));
    if (!live || (!managedFields && !isUnowned)) return live;
    const { resourceVersion, name, namespace } = live.metadata;
    const operations: PatchOperation[] = [
      // A concurrent writer keeps what it wrote.
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      ...(managedFields ? [{ op: "replace", path: "/metadata/managedFields", value: managedFields } as const] : []),
      ...also(live),
    ];
    try {
      return await kube.patch(kind, { name, namespace }, operations, { signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_CONFLICT") || tries === adoptTries) throw thrown;
    }
  }
}
