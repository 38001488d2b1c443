/**
 * Which fields of a live object are ours, and with what values. The server keeps book of it (`managedFields`): a field
 * that somebody else changed is no longer ours. So what we own equals what we want exactly when nobody touched it.
 */
import { createHash } from "node:crypto";
import { formatQuantity, parseQuantity } from "../market/quantity.ts";
import { ProviderError } from "../runtime/errors.ts";
import { isRecord } from "../runtime/is-record.ts";
import type { KubeObject } from "./kube.ts";

export interface OwnedFields {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** The part of the object that is ours. */
  readonly fields: unknown;
}

export function ownedFields(object: KubeObject, fieldManager: string): OwnedFields {
  const { uid, resourceVersion, managedFields = [] } = object.metadata;
  const entry = managedFields.find(
    ({ manager, operation, subresource }) => manager === fieldManager && operation === "Apply" && !subresource,
  );
  return { uid, resourceVersion, fields: entry?.fieldsV1 ? pick(object, entry.fieldsV1) : undefined };
}

/** The same fields give the same text, whatever the order of keys and the notation of amounts. */
export function digest(fields: unknown): string {
  const text = JSON.stringify(plain(fields)) ?? "";
  return createHash("sha256").update(text).digest("base64");
}

/** What an apply would make ours: all but the identity, which belongs to nobody. */
export function wishedFields({ apiVersion: _, kind: __, metadata, ...rest }: KubeObject): unknown {
  const { labels, annotations, finalizers, ...others } = metadata;
  const ownerReferences = (others as Record<string, unknown>)["ownerReferences"];
  return { ...rest, metadata: { labels, annotations, finalizers, ownerReferences } };
}

type Path = Readonly<Record<string, unknown>>;

/** Follows a field set: f:name is a field, k:{…} the element of a list with that key, v:… an element of a set. */
function pick(value: unknown, paths: unknown): unknown {
  if (!isRecord(paths)) return value;
  const steps = Object.entries(paths as Path).filter(([step]) => step !== ".");
  if (steps.length === 0) return value;
  if (Array.isArray(value)) return value.length === 0 ? [] : pickElements(value, steps);
  if (!isRecord(value)) return undefined;
  const entries = steps
    .filter(([step]) => step.startsWith("f:") && Object.hasOwn(value, step.slice(2)))
    .map(([step, below]) => [step.slice(2), pick(value[step.slice(2)], below)]);
  return Object.fromEntries(entries);
}

/** In the order of the live list, which is the order we gave it. */
function pickElements(list: readonly unknown[], steps: [string, unknown][]): unknown[] {
  const wanted = steps.map(([step, below]) => ({
    isKey: step.startsWith("k:"),
    key: JSON.parse(step.slice(2)),
    below,
  }));
  return list.flatMap((element) => {
    const step = wanted.find(({ isKey, key }) => (isKey ? hasKeys(element, key) : element === key));
    return step === undefined ? [] : [pick(element, step.below)];
  });
}

function hasKeys(element: unknown, keys: unknown): boolean {
  return isRecord(element) && isRecord(keys) && Object.entries(keys).every(([name, value]) => element[name] === value);
}

/** Keys sorted, nothing that is not there, amounts in one notation. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined && inner !== null)
    .map(([name, inner]) => [name, amounts.has(name) ? plainAmounts(inner) : plain(inner)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}

/** Where the server writes amounts in its own notation: 1000m of a processor as 1. */
const amounts = new Set(["limits", "requests", "sizeLimit"]);

function plainAmounts(value: unknown): unknown {
  if (isRecord(value)) return plain(Object.fromEntries(Object.entries(value).map(([n, v]) => [n, plainAmount(v)])));
  return plainAmount(value);
}

/** A custom resource may mean something else by these names; then it stays as it is. */
function plainAmount(value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "number") return plain(value);
  try {
    return formatQuantity(parseQuantity(String(value)));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return value;
    throw thrown;
  }
}
