/** The shape of JSON that Go reads: its fields, their Go types, and which are omitted when empty. */
import { type GoJson, type GoObject, goQuote, isList, isNumber, kindOf } from "./go-json.ts";

export type Shape =
  | { readonly kind: "string"; readonly go: string }
  | { readonly kind: "integer"; readonly go: string; readonly least: number; readonly most: number }
  | { readonly kind: "boolean"; readonly go: "bool" }
  /** A whole number of any size, as text. */
  | { readonly kind: "amount"; readonly go: "string" }
  | { readonly kind: "list"; readonly go: string; readonly of: Shape }
  | RecordShape;

export interface RecordShape {
  readonly kind: "record";
  readonly go: string;
  readonly fields: readonly GoField[];
  /** By their names in any case. */
  readonly byName: ReadonlyMap<string, GoField>;
}

export interface GoField {
  readonly name: string;
  readonly shape: Shape;
  /** It is left out where it is empty. */
  readonly omits: boolean;
  /** It may be null; every list may. */
  readonly nullable: boolean;
}

export const goString: Shape = { kind: "string", go: "string" };
export const goUint32: Shape = { kind: "integer", go: "uint32", least: 0, most: 2 ** 32 - 1 };
export const goBool: Shape = { kind: "boolean", go: "bool" };
export const amount: Shape = { kind: "amount", go: "string" };
export const goStrings = list(goString, "[]string");

export function list(of: Shape, go: string): Shape {
  return { kind: "list", go, of };
}

/** A field before it has its name. */
type Part = Omit<GoField, "name">;

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

/** Equal for names that Go takes for equal: case is ignored, and two characters fold to ASCII letters. */
export function foldName(name: string): string {
  return name
    .replaceAll("\u017f", "s")
    .replaceAll("\u212a", "k")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The form of what a unit of a group or a service of a manifest takes, as JSON. */
const value = record("v1beta4.ResourceValue", { val: amount });
const attribute = record("v1.Attribute", { key: omits(goString), value: omits(goString) });
export const attributeList = list(attribute, "v1.Attributes");
const attributes = omits(attributeList);
const kind: Shape = { kind: "integer", go: "v1beta4.Endpoint_Kind", least: -(2 ** 31), most: 2 ** 31 - 1 };
export const resourcesShape = record("v1beta4.Resources", {
  id: goUint32,
  cpu: pointer(omits(record("v1beta4.CPU", { units: value, attributes }))),
  memory: pointer(omits(record("v1beta4.Memory", { size: value, attributes }))),
  storage: omits(list(record("v1beta4.Storage", { name: goString, size: value, attributes }), "v1beta4.Volumes")),
  gpu: pointer(omits(record("v1beta4.GPU", { units: value, attributes }))),
  endpoints: list(record("v1beta4.Endpoint", { kind: omits(kind), sequence_number: goUint32 }), "v1beta4.Endpoints"),
});

/** Each part of a service takes some microseconds, also when nothing was given of it. */
const mostRecords = 10_000;
/** Go's amounts have at most 256 bits, in binary digits at the longest. */
const mostAmountChars = 300;
const mostAmountBits = 256;
/** Of a number, in an error. */
const shownDigits = 64;

/** Like Go: the first wrong type is reported at the end, a wrong amount at once. Throws a SyntaxError with Go's words. */
export function decodeRecords(whole: Shape, json: GoJson): unknown {
  const path: string[] = [];
  let inside: RecordShape | undefined;
  let firstFault: string | undefined;
  let records = 0;

  function mismatch(given: string, { go }: Pick<Shape, "go">): string {
    const place = inside ? `struct field ${nameOf(inside)}.${path.join(".")}` : "value";
    return `json: cannot unmarshal ${given} into Go ${place} of type ${go}`;
  }

  function decode(shape: Shape, json: GoJson): unknown {
    if (shape.kind === "amount") return decodeAmount(json, () => mismatch(kindOf(json), shape));
    if (shape.kind === "record") records += 1;
    if (records > mostRecords) throw new SyntaxError(`it has more than ${mostRecords} parts`);
    if (json === null) return emptyOf(shape);
    if (shape.kind === "string" && typeof json === "string") return json;
    if (shape.kind === "boolean" && typeof json === "boolean") return json;
    if (shape.kind === "list" && isList(json)) return json.map((item) => decode(shape.of, item));
    if (shape.kind === "record" && kindOf(json) === "object") return decodeRecord(shape, json as GoObject);
    let given = kindOf(json);
    if (shape.kind === "integer" && isNumber(json)) {
      const number = /^-?\d{1,10}$/.test(json.digits) ? Number(json.digits) : Number.NaN;
      if (number >= shape.least && number <= shape.most) return number;
      given = `number ${json.digits.slice(0, shownDigits)}`;
    }
    firstFault ??= mismatch(given, shape);
    return emptyOf(shape);
  }

  function decodeRecord(shape: RecordShape, { fields }: GoObject): unknown {
    const record = emptyOf(shape) as Record<string, unknown>;
    const outside = inside;
    for (const [given, value] of fields) {
      const field = shape.byName.get(foldName(given));
      if (!field) continue;
      if (value === null && field.shape.kind !== "amount") {
        // Go sets what may be nil, and leaves everything else as it is.
        if (field.nullable) record[field.name] = null;
        continue;
      }
      inside = shape;
      path.push(field.name);
      record[field.name] = decode(field.shape, value);
      path.pop();
      inside = outside;
    }
    return record;
  }

  const decoded = decode(whole, json);
  if (firstFault !== undefined) throw new SyntaxError(firstFault);
  return decoded;
}

function decodeAmount(json: GoJson, mismatch: () => string): string {
  if (json !== null && typeof json !== "string") throw new SyntaxError(mismatch());
  const text = json ?? "";
  const [, minus, octal, digits = ""] = amountPattern.exec(text) ?? [];
  if (text.length > mostAmountChars) throw new SyntaxError("integer out of range");
  if (!amountPattern.test(text)) throw new SyntaxError(`math/big: cannot unmarshal ${goQuote(text)} into a *big.Int`);
  const plain = digits.replaceAll("_", "");
  const value = BigInt(octal === undefined ? plain : `0o${octal.replaceAll("_", "") || "0"}`);
  if (value >= 2n ** BigInt(mostAmountBits)) throw new SyntaxError(`integer out of range: ${text}`);
  return `${minus === "-" ? -value : value}`;
}

/** Numbers as Go's literals: a sign, a base, and underscores between digits. A zero in front means base eight. */
const amountPattern = /^([+-]?)(?:0[oO]?((?:_?[0-7])+)|(0|[1-9](?:_?\d)*|0[xX](?:_?[\da-fA-F])+|0[bB](?:_?[01])+))$/;

const empty = { string: "", integer: 0, boolean: false, amount: "0", list: null };

function emptyOf(shape: Shape): unknown {
  if (shape.kind !== "record") return empty[shape.kind];
  return Object.fromEntries(shape.fields.map((part) => [part.name, part.nullable ? null : emptyOf(part.shape)]));
}

function nameOf({ go }: RecordShape): string {
  return go.slice(go.indexOf(".") + 1);
}

/** As Go writes it: what is empty is left out where its type says so. */
export function writeRecords(shape: Shape, value: unknown): unknown {
  if (value === null) return null;
  if (shape.kind === "list") return (value as unknown[]).map((item) => writeRecords(shape.of, item));
  if (shape.kind !== "record") return value;
  const record = value as Readonly<Record<string, unknown>>;
  const written = shape.fields.flatMap((field) => {
    const given = record[field.name] ?? null;
    return field.omits && isEmpty(field, given) ? [] : [[field.name, writeRecords(field.shape, given)]];
  });
  return Object.fromEntries(written);
}

function isEmpty({ shape }: GoField, value: unknown): boolean {
  if (shape.kind === "record" || value === null) return value === null;
  return shape.kind === "list" ? (value as unknown[]).length === 0 : value === emptyOf(shape);
}
