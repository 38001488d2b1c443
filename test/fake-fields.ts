/** Who owns which fields of an object of the fake API server, told apart as the real one does it. */
import type { KubeObject, ManagedFields } from "../src/kube/kube.ts";

/** A step into an object: a field, or the element of a list with this name. */
type Step = { f: string } | { k: string };
type Leaves = Map<string, unknown>;
export type Owners = Map<string, { operation: "Apply" | "Update"; leaves: Set<string> }>;
export type Plain = Record<string, unknown>;

const identity = new Set(
  [
    ["apiVersion"],
    ["kind"],
    ...["name", "namespace", "uid", "resourceVersion", "managedFields", "creationTimestamp"].map((name) => [
      "metadata",
      name,
    ]),
  ].map((names) => JSON.stringify(names.map((f) => ({ f })))),
);

function isRecord(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function leavesOf(value: unknown, path: Step[] = [], leaves: Leaves = new Map()): Leaves {
  if (identity.has(JSON.stringify(path))) return leaves;
  const named =
    Array.isArray(value) && value.length > 0 && value.every((element) => isRecord(element) && "name" in element);
  if (named)
    for (const element of value as { name: string }[]) leavesOf(element, [...path, { k: element.name }], leaves);
  else if (isRecord(value) && (path.length === 0 || Object.keys(value).length > 0)) {
    for (const [f, inner] of Object.entries(value)) leavesOf(inner, [...path, { f }], leaves);
  } else leaves.set(JSON.stringify(path), value);
  return leaves;
}

export class Conflict extends Error {}

/** Server-side apply; returns the new object. */
export function applyTo(live: Plain, desired: KubeObject, manager: string, force: boolean, owners: Owners): Plain {
  const wanted = leavesOf(desired);
  const has = leavesOf(live);
  for (const [other, { leaves }] of owners) {
    if (other === manager) continue;
    const taken = [...wanted].filter(([path, value]) => leaves.has(path) && !same(value, has.get(path)));
    if (taken.length > 0 && !force) throw new Conflict(`Apply failed with 1 conflict: conflict with "${other}"`);
    for (const [path] of taken) leaves.delete(path);
  }
  const next = structuredClone(live);
  const before = owners.get(manager)?.leaves ?? new Set<string>();
  for (const path of before) {
    const kept = wanted.has(path) || [...owners].some(([name, { leaves }]) => name !== manager && leaves.has(path));
    if (!kept) remove(next, JSON.parse(path));
  }
  for (const [path, value] of wanted) set(next, JSON.parse(path), value);
  owners.set(manager, { operation: "Apply", leaves: new Set(wanted.keys()) });
  return next;
}

/** A change by hand: whatever it changed belongs to its author now. */
export function editedBy(before: Plain, after: Plain, manager: string, owners: Owners): void {
  const old = leavesOf(before);
  const now = leavesOf(after);
  const changed = [...now.keys()].filter((path) => !same(now.get(path), old.get(path)));
  const gone = [...old.keys()].filter((path) => !now.has(path));
  for (const { leaves } of owners.values()) for (const path of [...changed, ...gone]) leaves.delete(path);
  owners.set(manager, { operation: "Update", leaves: new Set([...(owners.get(manager)?.leaves ?? []), ...changed]) });
}

export function managedFieldsOf(owners: Owners): ManagedFields[] {
  return [...owners].map(([manager, { operation, leaves }]) => {
    const fieldsV1: Plain = {};
    for (const path of leaves) {
      let at = fieldsV1;
      for (const step of JSON.parse(path) as Step[]) {
        const key = "f" in step ? `f:${step.f}` : `k:${JSON.stringify({ name: step.k })}`;
        at[key] ??= "f" in step ? {} : { ".": {} };
        at = at[key] as Plain;
      }
    }
    return { manager, operation, fieldsV1 };
  });
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function child(at: unknown, step: Step): unknown {
  if ("f" in step) return isRecord(at) ? at[step.f] : undefined;
  return Array.isArray(at) ? at.find((element) => isRecord(element) && element["name"] === step.k) : undefined;
}

function set(root: Plain, path: Step[], value: unknown): void {
  let at: unknown = root;
  for (const [index, step] of path.entries()) {
    const next = path[index + 1];
    const last = next === undefined;
    if ("f" in step) {
      const record = at as Plain;
      if (last) record[step.f] = structuredClone(value);
      else if (child(at, step) === undefined) record[step.f] = "k" in next ? [] : {};
    } else if (child(at, step) === undefined) (at as unknown[]).push({ name: step.k });
    at = child(at, step);
  }
}

function remove(root: Plain, path: Step[]): void {
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>(child, root);
  if (last && "f" in last && isRecord(parent)) delete parent[last.f];
  if (parent !== undefined && isRecord(parent) && Object.keys(parent).length === 0 && path.length > 1) {
    remove(root, path.slice(0, -1));
  }
}
