/** What values of a kind look like: enough to read, write back, merge and check them as the API server does. */
export type Shape = ScalarShape | StructShape | MapShape | ListShape | AnyShape;

export type Scalar =
  | "string"
  | "bytes"
  | "integer"
  | "number"
  | "boolean"
  | "quantity"
  | "int-or-string"
  | "time"
  | "micro-time";

interface ScalarShape {
  readonly is: "scalar";
  readonly of: Scalar;
  /** The only values there are, if not any. */
  readonly enum?: readonly unknown[];
}

export interface StructShape {
  readonly is: "struct";
  /** Its name, where it has one: "core.v1.Container". */
  readonly type?: string;
  /** By name. What is not here is unknown. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly required: readonly string[];
  /** Those that are there even where they were not given. */
  readonly always: readonly (readonly [string, Field])[];
  /** Belongs to one manager as a whole. */
  readonly atomic: boolean;
  /** Keeps what it does not know. */
  readonly open: boolean;
}

export interface Field {
  readonly shape: Shape;
  /** Go's zero value is not written: an empty text, 0, false, an empty list. */
  readonly omitsZero: boolean;
  /** Written even where it was not given: as this, or else with its zero value. */
  readonly always: boolean;
  readonly otherwise?: unknown;
  /** Nothing (null) is a value of its own. */
  readonly nullable?: boolean;
}

interface MapShape {
  readonly is: "map";
  readonly of: Shape;
  readonly atomic: boolean;
}

export interface ListShape {
  readonly is: "list";
  readonly of: Shape;
  /** Elements are identified by these fields, by their value, or not at all. */
  readonly by: readonly ListKey[] | "value" | "nothing";
}

/** In the order of their names. */
interface ListKey {
  readonly name: string;
  readonly otherwise: unknown;
}

/** Of no known shape: records are merged field by field, lists belong to one manager as a whole. */
interface AnyShape {
  readonly is: "any";
}

export const anything: AnyShape = { is: "any" };

/** The shape of one field or entry of a record. */
export function shapeInside(shape: Shape, name: string): Shape {
  if (shape.is === "struct") return shape.fields.get(name)?.shape ?? anything;
  return shape.is === "map" ? shape.of : anything;
}

export function isAtomic(shape: Shape): boolean {
  if (shape.is === "struct" || shape.is === "map") return shape.atomic;
  return shape.is === "list" ? shape.by === "nothing" : shape.is === "scalar";
}

export type Plain = Readonly<Record<string, unknown>>;
