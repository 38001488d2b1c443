/** A new object that is not shared yet, so it may still be filled in. */

import type { KubeObject } from "../../../../kube/kube.ts";
import { isRecord } from "../../../../runtime/is-record.ts";

export type Mutable = Record<string, unknown>;

export function mutable(object: KubeObject): Mutable {
  return object as unknown as Mutable;
}

/** The record in a field, made if there is none. */
export function part(of: Mutable, name: string): Mutable {
  if (!isRecord(of[name])) of[name] = {};
  return of[name] as Mutable;
}

/** The record in a field, if there is one. */
export function partIfThere(of: Mutable | undefined, name: string): Mutable | undefined {
  const found = of?.[name];
  return isRecord(found) ? (found as Mutable) : undefined;
}

export function elements(of: Mutable | undefined, name: string): Mutable[] {
  const found = of?.[name];
  return Array.isArray(found) ? (found as Mutable[]) : [];
}

/** Puts in what is not there. */
export function fill(into: Mutable | undefined, defaults: Readonly<Record<string, unknown>>): void {
  if (!into) return;
  for (const name in defaults) if ((into[name] ?? undefined) === undefined) into[name] = copyOf(defaults[name]);
}

function copyOf(value: unknown): unknown {
  return typeof value === "object" ? structuredClone(value) : value;
}
