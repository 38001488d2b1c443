/** What values of a kind look like: enough to read, write back and merge them as the API server does. */
export type Shape = ScalarShape | StructShape | MapShape | ListShape | AnyShape;

export type Scalar = "string" | "integer" | "number" | "boolean" | "quantity" | "int-or-string" | "time" | "micro-time";

export interface ScalarShape {
  readonly is: "scalar";
  readonly of: Scalar;
}

export interface StructShape {
  readonly is: "struct";
  /** By name. What is not here is unknown. */
  readonly fields: ReadonlyMap<string, Field>;
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
}

export interface MapShape {
  readonly is: "map";
  readonly of: Shape;
  readonly atomic: boolean;
}

export interface ListShape {
  readonly is: "list";
  readonly of: Shape;
  /** Elements are told apart by these fields, by their value, or not at all. */
  readonly by: readonly ListKey[] | "value" | "nothing";
}

/** In the order of their names. */
export interface ListKey {
  readonly name: string;
  readonly otherwise: string | undefined;
}

/** Of no known shape: records are merged field by field, lists belong to one manager as a whole. */
export interface AnyShape {
  readonly is: "any";
}

export function structOf(fields: ReadonlyMap<string, Field>, atomic: boolean, open = false): StructShape {
  return { is: "struct", fields, always: [...fields].filter(([, { always }]) => always), atomic, open };
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
