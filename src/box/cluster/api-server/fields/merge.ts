/** Merges an applied configuration into the live object, and removes what its manager no longer applies. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { isAtomic, type ListShape, type Plain, type Shape, shapeInside } from "../schema/shape.ts";
import { bySteps, elementStep } from "./elements.ts";
import { below, type FieldSet, fieldStep, has } from "./field-set.ts";

export function merge(live: unknown, applied: unknown, shape: Shape): unknown {
  if (applied === undefined) return live;
  if (live === undefined || isAtomic(shape)) return applied;
  if (isRecord(live) && isRecord(applied)) return mergeRecords(live, applied, shape);
  if (Array.isArray(live) && Array.isArray(applied) && shape.is === "list") return mergeLists(live, applied, shape);
  // Nothing is laid over it, so it stays as it is.
  if (applied === null && typeof live === "object" && live !== null && Object.keys(live).length > 0) return live;
  return applied;
}

function mergeRecords(live: Plain, applied: Plain, shape: Shape): Plain {
  const merged = Object.entries(applied).map(([name, value]) => [
    name,
    merge(live[name], value, shapeInside(shape, name)),
  ]);
  return { ...live, ...Object.fromEntries(merged) };
}

/** Elements of both come in the order in which they are applied; those that are only there keep their place. */
function mergeLists(live: readonly unknown[], applied: readonly unknown[], shape: ListShape): unknown[] {
  const old = bySteps(live, shape);
  const wanted = applied.map((element) => ({ element, step: elementStep(element, shape) }));
  const wantedSteps = new Set(wanted.map(({ step }) => step));
  const shared = wanted.map(({ step }) => step).filter((step) => old.has(step));
  const out: unknown[] = [];
  let turn = 0;
  function takeNext(): void {
    const { element, step } = wanted[turn] as (typeof wanted)[number];
    // Elements that share a key are ambiguous, so none of them is merged with.
    const same = old.get(step) ?? [];
    out.push(merge(same.length === 1 ? same[0] : undefined, element, shape.of));
    if (step === shared[0]) shared.shift();
    turn += 1;
  }
  for (const element of live) {
    const step = elementStep(element, shape);
    if (!wantedSteps.has(step)) out.push(element);
    // One that is applied in another place comes when it is its turn.
    else if (step === shared[0]) while (shared[0] === step) takeNext();
  }
  while (turn < wanted.length) takeNext();
  return out;
}

/** Takes a set of fields out of a value. Undefined when nothing is left. */
export function remove(value: unknown, set: FieldSet, shape: Shape): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isAtomic(shape)) return undefined;
  if (isRecord(value)) return removeFields(value, set, shape);
  return shape.is === "list" ? removeElements(value as readonly unknown[], set, shape) : undefined;
}

function removeFields(record: Plain, set: FieldSet, shape: Shape): unknown {
  const kept = Object.entries(record).flatMap(([name, value]) => {
    const step = fieldStep(name);
    if (has(set, step)) return [];
    const left = step in set ? remove(value, below(set, step), shapeInside(shape, name)) : value;
    // A field of which nothing is left is still a field: its owner keeps it.
    return [[name, left ?? null] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function removeElements(list: readonly unknown[], set: FieldSet, shape: Shape & { is: "list" }): unknown {
  const kept = list.flatMap((element) => {
    const step = elementStep(element, shape);
    if (has(set, step)) return [];
    return [step in set ? remove(element, below(set, step), shape.of) : element];
  });
  return kept.length === 0 ? undefined : kept;
}
