/** Which fields a value gives: what an apply of it would own. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { isAtomic, type Plain, type Shape, shapeInside } from "../schema/shape.ts";
import { bySteps } from "./elements.ts";
import { type FieldSet, fieldStep, isEmpty } from "./field-set.ts";

type Growing = Record<string, FieldSet>;

export function givenFields(value: unknown, shape: Shape): FieldSet {
  if (Array.isArray(value)) return isAtomic(shape) || shape.is === "any" ? {} : elementsOf(value, shape);
  return isRecord(value) && !isAtomic(shape) ? fieldsOf(value, shape) : {};
}

function fieldsOf(record: Plain, shape: Shape): FieldSet {
  const out: Growing = {};
  for (const [name, value] of Object.entries(record)) {
    const inside = shapeInside(shape, name);
    const inner = givenFields(value, inside);
    const isField = shape.is === "struct";
    // A list that is told apart by keys and has no elements gives nothing: nobody owns an empty one.
    if (isEmpty(inner) && Array.isArray(value) && isKeyed(inside) && isField) continue;
    out[fieldStep(name)] = isField || isEmpty(inner) ? inner : { ".": {}, ...inner };
  }
  return out;
}

function elementsOf(list: readonly unknown[], shape: Shape): FieldSet {
  if (shape.is !== "list") return {};
  const out: Growing = {};
  for (const [step, same] of bySteps(list, shape)) {
    const inner = same.length > 1 ? {} : givenFields(same[0], shape.of);
    out[step] = isEmpty(inner) ? {} : { ".": {}, ...inner };
  }
  return out;
}

function isKeyed(shape: Shape): boolean {
  return shape.is === "list" && shape.by !== "nothing";
}
