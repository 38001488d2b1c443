/**
 * Which fields of a live object are ours, and what the object has there. The server keeps book of it (`managedFields`):
 * a field that somebody else changed or removed is no longer ours.
 */
import { isRecord } from "../runtime/is-record.ts";
import type { KubeObject, ManagedFields } from "./kube.ts";

export interface OwnedFields {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** It is on its way out, whatever it looks like. */
  readonly deleting: boolean;
  readonly fields: Owned;
}

/** What we own of a value. */
export type Owned =
  // All of it: a scalar, or a list or record that belongs to one owner. The live value, undefined where there is none.
  | { readonly is: "whole"; readonly value: unknown }
  | OwnedRecord
  // Some elements of it, in their live order.
  | { readonly is: "list"; readonly elements: readonly Owned[] }
  // Nothing of it, and there is something: the server's, or somebody else's.
  | { readonly is: "foreign" };

export interface OwnedRecord {
  readonly is: "record";
  readonly fields: Readonly<Record<string, Owned>>;
}

/** Of the status, where that is what is applied; it has owners of its own. */
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
  // Nobody owns these two themselves, so they are looked into even if nothing in them is ours.
  const metadata = ownedRecord(object.metadata, stepsOf(paths?.["f:metadata"]));
  const { fields } = ownedRecord(object, stepsOf(paths));
  const deleting = deletionTimestamp !== undefined;
  return { uid, resourceVersion, deleting, fields: { is: "record", fields: { ...fields, metadata } } };
}

type Step = readonly [step: string, below: unknown];

/** Follows a field set: f:name is a field, k:{…} the element of a list with that key, v:… an element of a set. */
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

/** What tells the elements of a list apart: themselves, or some of their fields, which all steps name alike. */
function elementKey(step: string): (element: unknown) => string {
  if (!step.startsWith("k:")) return (element) => JSON.stringify(element);
  const names = Object.keys(JSON.parse(step.slice("k:".length)));
  return (element) => JSON.stringify(names.map((name) => (isRecord(element) ? element[name] : undefined)));
}

function hasParts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
