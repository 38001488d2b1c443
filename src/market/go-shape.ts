/** The form of a JSON that Go reads: which fields there are, of which types in Go, and which are left out when empty. */

export type Shape =
  | { readonly kind: "text"; readonly go: string }
  | { readonly kind: "whole"; readonly go: string; readonly least: number; readonly most: number }
  | { readonly kind: "flag"; readonly go: "bool" }
  /** A whole number of any size, as text. */
  | { readonly kind: "amount"; readonly go: "string" }
  | { readonly kind: "list"; readonly go: string; readonly of: Shape }
  | RecordShape;

export interface RecordShape {
  readonly kind: "record";
  readonly go: string;
  readonly fields: readonly Field[];
  /** By their names in any case. */
  readonly byName: ReadonlyMap<string, Field>;
}

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  /** It is left out where it is empty. */
  readonly omits: boolean;
  /** It may be null; every list may. */
  readonly nullable: boolean;
}

export const text: Shape = { kind: "text", go: "string" };
export const uint32: Shape = { kind: "whole", go: "uint32", least: 0, most: 2 ** 32 - 1 };
export const flag: Shape = { kind: "flag", go: "bool" };
export const amount: Shape = { kind: "amount", go: "string" };
export const texts = list(text, "[]string");

export function list(of: Shape, go: string): Shape {
  return { kind: "list", go, of };
}

/** A field before it has its name. */
type Part = Omit<Field, "name">;

export function record(go: string, parts: Readonly<Record<string, Shape | Part>>): RecordShape {
  const fields = Object.entries(parts).map(([name, part]) => ({ name, ...asPart(part) }));
  return { kind: "record", go, fields, byName: new Map(fields.map((field) => [foldName(field.name), field])) };
}

export function omits(part: Shape | Part): Part {
  return { ...asPart(part), omits: true };
}

export function pointer(part: Shape | Part): Part {
  return { ...asPart(part), nullable: true };
}

function asPart(part: Shape | Part): Part {
  return "shape" in part ? part : { shape: part, omits: false, nullable: part.kind === "list" };
}

/** The same for names that Go takes for the same: case is nothing, and two signs are letters of ASCII in another case. */
export function foldName(name: string): string {
  return name
    .replaceAll("\u017f", "s")
    .replaceAll("\u212a", "k")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
