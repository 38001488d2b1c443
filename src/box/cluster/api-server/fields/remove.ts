/** Takes a set of fields out of a value. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { isAtomic, type Plain, type Shape, shapeInside } from "../schema/shape.ts";
import { elementStep } from "./elements.ts";
import { below, type FieldSet, fieldStep, has } from "./field-set.ts";

/** Undefined when nothing is left. */
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
