/** Shapes from OpenAPI schemas: those of the API server itself, and those in the definitions of custom resources. */

import { fieldsOf, listOf } from "../../../../kube/json-fields.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import {
  anything,
  type Field,
  type ListShape,
  type Plain,
  type Scalar,
  type Shape,
  type StructShape,
} from "./shape.ts";

/** The schema that a reference names. */
type Lookup = (name: string) => Shape;

interface Growing extends StructShape {
  readonly fields: Map<string, Field>;
  readonly always: [string, Field][];
}

const scalars: Readonly<Record<string, Scalar>> = {
  string: "string",
  "string byte": "bytes",
  integer: "integer",
  "integer int32": "integer",
  "integer int64": "integer",
  number: "number",
  boolean: "boolean",
};

/** What the API server writes in a way of its own. */
const ownScalars: Readonly<Record<string, Scalar>> = {
  "api.resource.Quantity": "quantity",
  "util.intstr.IntOrString": "int-or-string",
  "meta.v1.Time": "time",
  "meta.v1.MicroTime": "micro-time",
};

/** Types may refer to each other, so each is read on first use and cached. */
export function createShapes(definitions: Readonly<Record<string, Plain>>): Lookup {
  const shapes = new Map<string, Shape>();
  function named(name: string): Shape {
    const scalar = ownScalars[name];
    if (scalar) return { is: "scalar", of: scalar };
    const found = shapes.get(name);
    if (found) return found;
    const schema = definitions[name] ?? {};
    if (!isRecord(schema["properties"])) return anything;
    const shape = { ...emptyStruct(schema), type: name };
    shapes.set(name, shape);
    readFields(shape, schema, named);
    return shape;
  }
  return named;
}

/** Every custom resource has these, whatever its definition says. */
export function customShape(schema: unknown, metadata: Shape): StructShape {
  const read = readShape(isRecord(schema) ? schema : {}, () => anything);
  const text: Shape = { is: "scalar", of: "string" };
  const given = (shape: Shape): Field => ({ shape, omitsZero: false, always: false });
  const declared = read.is === "struct" ? read : emptyStruct({ "x-kubernetes-preserve-unknown-fields": true });
  const fields = new Map([...declared.fields, ["apiVersion", given(text)], ["kind", given(text)]] as const);
  return { ...declared, fields: fields.set("metadata", given(metadata)) };
}

function readShape(schema: Plain, lookup: Lookup): Shape {
  if (typeof schema["$ref"] === "string") {
    const shape = lookup(schema["$ref"]);
    return schema["x-kubernetes-map-type"] === "atomic" && shape.is === "struct" ? { ...shape, atomic: true } : shape;
  }
  if (schema["x-kubernetes-int-or-string"] === true) return { is: "scalar", of: "int-or-string" };
  const { type, format } = schema;
  if (type === "array") return readList(schema, lookup);
  if (type === "object") return readObject(schema, lookup);
  const scalar = scalars[`${type} ${format}`] ?? scalars[String(type)];
  return scalar ? scalarShape(scalar, schema) : anything;
}

function scalarShape(of: Scalar, { enum: values }: Plain): Shape {
  return { is: "scalar", of, ...(Array.isArray(values) ? { enum: values } : {}) };
}

function readObject(schema: Plain, lookup: Lookup): Shape {
  const { properties, additionalProperties: entries } = schema;
  const atomic = schema["x-kubernetes-map-type"] === "atomic";
  if (isRecord(entries)) return { is: "map", of: readShape(entries, lookup), atomic };
  if (!isRecord(properties) && entries === true) return anything;
  const shape = emptyStruct(schema);
  readFields(shape, schema, lookup);
  return shape.open && shape.fields.size === 0 ? anything : shape;
}

function emptyStruct(schema: Plain): Growing {
  const atomic = schema["x-kubernetes-map-type"] === "atomic";
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  return {
    is: "struct",
    fields: new Map(),
    always: [],
    atomic,
    open,
    required: listOf(schema["required"]).map(String),
  };
}

function readFields(into: Growing, schema: Plain, lookup: Lookup): void {
  const always = new Set(listOf(schema["x-go-always"]));
  const omits = new Set(listOf(schema["x-go-omits-empty"]));
  for (const [name, inner] of Object.entries(fieldsOf(schema["properties"]))) {
    const read = fieldsOf(inner);
    const otherwise = read["default"];
    const field: Field = {
      shape: readShape(read, lookup),
      omitsZero: omits.has(name),
      always: always.has(name) || otherwise !== undefined,
      otherwise,
      nullable: read["nullable"] === true,
    };
    into.fields.set(name, field);
    if (field.always) into.always.push([name, field]);
  }
}

function readList(schema: Plain, lookup: Lookup): ListShape {
  const of = readShape(fieldsOf(schema["items"]), lookup);
  const type = schema["x-kubernetes-list-type"];
  if (type === "set") return { is: "list", of, by: "value" };
  if (type !== "map") return { is: "list", of, by: "nothing" };
  const names = listOf(schema["x-kubernetes-list-map-keys"]).map(String).sort();
  const fields = of.is === "struct" ? of.fields : undefined;
  return { is: "list", of, by: names.map((name) => ({ name, otherwise: fields?.get(name)?.otherwise })) };
}
