/** The shape of custom resources, from the OpenAPI schema in their definition. */
import { isRecord } from "../../../runtime/is-record.ts";
import {
  anything,
  type Field,
  type ListKey,
  type Plain,
  type Scalar,
  type Shape,
  type StructShape,
  structOf,
} from "./shape.ts";

/** Every custom resource has these, whatever its definition says. */
export function customShape(schema: unknown, metadata: Shape): StructShape {
  const shape = shapeOf(schema);
  const declared = shape.is === "struct" ? shape.fields : new Map<string, Field>();
  const text: Shape = { is: "scalar", of: "string" };
  const fields = new Map([
    ["apiVersion", fieldOf(text)],
    ["kind", fieldOf(text)],
    ...declared,
    ["metadata", fieldOf(metadata)],
  ]);
  return structOf(fields, false, shape.is !== "struct" || shape.open);
}

function shapeOf(schema: unknown): Shape {
  if (!isRecord(schema)) return anything;
  if (schema["x-kubernetes-int-or-string"] === true) return { is: "scalar", of: "int-or-string" };
  if (schema["type"] === "array") return { is: "list", of: shapeOf(schema["items"]), by: listKeys(schema) };
  if (schema["type"] === "object") return objectShape(schema);
  const scalar = scalars[String(schema["type"])];
  return scalar ? { is: "scalar", of: scalar } : anything;
}

const scalars: Readonly<Record<string, Scalar>> = {
  string: "string",
  integer: "integer",
  number: "number",
  boolean: "boolean",
};

function objectShape(schema: Plain): Shape {
  const atomic = schema["x-kubernetes-map-type"] === "atomic";
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const { properties, additionalProperties: entries } = schema;
  if (isRecord(properties)) {
    const fields = Object.entries(properties).map(([name, inner]): [string, Field] => [
      name,
      fieldOf(shapeOf(inner), isRecord(inner) ? inner["default"] : undefined),
    ]);
    return structOf(new Map(fields), atomic, open);
  }
  if (isRecord(entries)) return { is: "map", of: shapeOf(entries), atomic };
  return open || entries === true ? anything : structOf(new Map(), atomic);
}

function listKeys(schema: Plain): readonly ListKey[] | "value" | "nothing" {
  if (schema["x-kubernetes-list-type"] === "set") return "value";
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(keys)) return "nothing";
  return keys.toSorted().map((name) => ({ name: String(name), otherwise: undefined }));
}

function fieldOf(shape: Shape, otherwise?: unknown): Field {
  return { shape, omitsZero: false, always: otherwise !== undefined, otherwise };
}
