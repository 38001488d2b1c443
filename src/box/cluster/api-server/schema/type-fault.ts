/** Why an applied value is none of its kind: a field that the type does not have, or a value of another type. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { elementStep } from "../fields/elements.ts";
import { stepText } from "../fields/field-set.ts";
import { type ListShape, type Scalar, type Shape, shapeInside } from "./shape.ts";

export function typeFault(value: unknown, shape: Shape, path = ""): string | undefined {
  if (value === null || value === undefined || shape.is === "any") return undefined;
  if (shape.is === "scalar") return scalarFault(value, shape.of, path);
  if (shape.is === "list") {
    if (!Array.isArray(value)) return `${path}: expected list, got ${typeof value}`;
    const inside = value.map(
      (element, at) => () => typeFault(element, shape.of, `${path}${stepOf(element, at, shape)}`),
    );
    return firstFault([...inside, () => duplicateFault(value, shape, path)]);
  }
  if (!isRecord(value)) return `${path}: expected map, got ${typeof value}`;
  return firstFault(
    Object.entries(value).map(([name, inner]) => () => {
      const isKnown = shape.is === "map" || shape.open || shape.fields.has(name);
      if (!isKnown) return `${path}.${name}: field not declared in schema`;
      return typeFault(inner, shapeInside(shape, name), `${path}.${name}`);
    }),
  );
}

function stepOf(element: unknown, at: number, shape: ListShape): string {
  return shape.by === "nothing" ? `[${at}]` : stepText(elementStep(element, shape));
}

/** Elements that are told apart must not be the same. */
function duplicateFault(list: readonly unknown[], shape: ListShape, path: string): string | undefined {
  if (shape.by === "nothing") return undefined;
  const seen = new Set<string>();
  for (const element of list) {
    const step = elementStep(element, shape);
    if (seen.has(step)) return `${path}: duplicate entries for key ${stepText(step)}`;
    seen.add(step);
  }
  return undefined;
}

function firstFault(looks: readonly (() => string | undefined)[]): string | undefined {
  for (const look of looks) {
    const fault = look();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const accepted: Readonly<Record<Scalar, readonly string[]>> = {
  string: ["string"],
  bytes: ["string"],
  integer: ["number"],
  number: ["number"],
  boolean: ["boolean"],
  quantity: ["string", "number"],
  "int-or-string": ["string", "number"],
  time: ["string"],
  "micro-time": ["string"],
};

function scalarFault(value: unknown, of: Scalar, path: string): string | undefined {
  return accepted[of].includes(typeof value) ? undefined : `${path}: expected ${of}, got ${JSON.stringify(value)}`;
}
