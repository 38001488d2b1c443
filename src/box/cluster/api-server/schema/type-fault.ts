/** Why an applied value is none of its kind: a field that the type does not have, or a value of another type. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { elementStep } from "../fields/elements.ts";
import { stepText } from "../fields/field-set.ts";
import { type ListShape, type Scalar, type Shape, shapeInside } from "./shape.ts";

export function typeFault(value: unknown, shape: Shape, path = ""): string | undefined {
  if (value === null || value === undefined || shape.is === "any") return undefined;
  if (shape.is === "scalar") return scalarFault(value, shape.of, path);
  if (shape.is === "list") return listFault(value, shape, path);
  if (!isRecord(value)) return `${path}: expected map, got ${typeof value}`;
  for (const [name, inner] of Object.entries(value)) {
    const isKnown = shape.is === "map" || shape.open || shape.fields.has(name);
    if (!isKnown) return `${path}.${name}: field not declared in schema`;
    const inside = typeFault(inner, shapeInside(shape, name), `${path}.${name}`);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Elements with keys must be unique. */
function listFault(value: unknown, shape: ListShape, path: string): string | undefined {
  if (!Array.isArray(value)) return `${path}: expected list, got ${typeof value}`;
  const seen = new Set<string>();
  for (const [at, element] of value.entries()) {
    const step = shape.by === "nothing" ? `[${at}]` : stepText(elementStep(element, shape));
    const inside = typeFault(element, shape.of, `${path}${step}`);
    if (inside !== undefined) return inside;
    if (seen.has(step)) return `${path}: duplicate entries for key ${step}`;
    seen.add(step);
  }
  return undefined;
}

const accepted: Partial<Readonly<Record<Scalar, readonly string[]>>> = {
  integer: ["number"],
  number: ["number"],
  boolean: ["boolean"],
  quantity: ["string", "number"],
  "int-or-string": ["string", "number"],
};

function scalarFault(value: unknown, of: Scalar, path: string): string | undefined {
  const isOfType = (accepted[of] ?? ["string"]).includes(typeof value);
  return isOfType ? undefined : `${path}: expected ${of}, got ${JSON.stringify(value)}`;
}
