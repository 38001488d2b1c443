/**
 * Writes a value as the API server gives it back: what it does not know is dropped, amounts and times are in its own
 * notation, zero values are left out or put in as Go does it. A value of another type is rejected.
 */
import { formatQuantity, parseQuantity } from "../../../../market/quantity.ts";
import { ProviderError } from "../../../../runtime/errors.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { StatusError } from "../objects/status-error.ts";
import type { ListShape, Plain, Scalar, Shape, StructShape } from "./shape.ts";

export function conform(value: unknown, shape: Shape, path = ""): unknown {
  if (value === null || value === undefined) return undefined;
  if (shape.is === "any") return value;
  if (shape.is === "scalar") return conformScalar(value, shape.of, path);
  if (shape.is === "list") return conformList(value, shape, path);
  if (!isRecord(value)) throw mistyped(value, "object", path);
  return shape.is === "struct" ? conformStruct(value, shape, path) : conformMap(value, shape.of, path);
}

function conformStruct(value: Plain, { fields, always, open }: StructShape, path: string): Plain {
  const out: Record<string, unknown> = {};
  for (const name in value) {
    const field = fields.get(name);
    if (!field) {
      if (open) out[name] = value[name];
      continue;
    }
    const kept = conform(value[name], field.shape, `${path}.${name}`);
    if (kept !== undefined && !(field.omitsZero && isZero(kept))) out[name] = kept;
  }
  for (const [name, { shape, otherwise }] of always) {
    if (!(name in out)) out[name] = otherwise === undefined ? zeroOf(shape) : structuredClone(otherwise);
  }
  return out;
}

function conformMap(value: Plain, of: Shape, path: string): Plain {
  const entries = Object.entries(value).map(([name, inner]) => {
    const kept = conform(inner, of, `${path}.${name}`);
    return [name, kept === undefined ? zeroOf(of) : kept] as const;
  });
  return Object.fromEntries(entries);
}

function conformList(value: unknown, { of }: ListShape, path: string): unknown {
  if (!Array.isArray(value)) throw mistyped(value, "array", path);
  return value.map((element) => conform(element, of, path) ?? zeroOf(of));
}

function conformScalar(value: unknown, of: Scalar, path: string): unknown {
  if (of === "quantity") return conformQuantity(value, path);
  if (of === "int-or-string" ? typeof value !== "string" && !Number.isInteger(value) : !isOf(value, of)) {
    throw mistyped(value, of, path);
  }
  if (of === "bytes" && !base64.test(String(value))) throw mistyped(value, "base64", path);
  // Go reads these with exactly six digits after the second.
  if (of === "micro-time" && !/\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(String(value))) throw mistyped(value, of, path);
  return of === "time" ? conformTime(String(value), path) : value;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function isOf(value: unknown, of: Scalar): boolean {
  if (of === "integer") return Number.isInteger(value);
  if (of === "number" || of === "boolean") return typeof value === of;
  return typeof value === "string";
}

function conformQuantity(value: unknown, path: string): string {
  try {
    return formatQuantity(parseQuantity(String(value)));
  } catch (thrown) {
    if (thrown instanceof ProviderError) throw mistyped(value, "quantity", path);
    throw thrown;
  }
}

/** To the second. */
function conformTime(text: string, path: string): string {
  const [, second, zone] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  if (second === undefined) throw mistyped(text, "time", path);
  return `${second}${zone}`;
}

function isZero(value: unknown): boolean {
  if (value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function zeroOf(shape: Shape): unknown {
  if (shape.is === "struct") return conformStruct({}, shape, "");
  // Go's empty lists and maps are nothing at all.
  return shape.is === "scalar" ? zeroScalars[shape.of] : null;
}

const zeroScalars: Readonly<Record<Scalar, unknown>> = {
  string: "",
  bytes: "",
  integer: 0,
  number: 0,
  boolean: false,
  quantity: "0",
  "int-or-string": 0,
  time: null,
  "micro-time": null,
};

function mistyped(value: unknown, wanted: string, path: string): StatusError {
  const got = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  return new StatusError(400, "BadRequest", `${path || "the object"}: expected ${wanted}, got ${got}`);
}
