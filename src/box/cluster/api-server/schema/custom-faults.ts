/** What the schema in a definition finds wrong with a custom resource. Rules in CEL are not looked at. */

import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { equal } from "../fields/equal.ts";
import { duplicate, type Fault, required, tooLong, unsupported, wrong } from "../objects/refusals.ts";
import type { Plain } from "./shape.ts";

export function customFaults(value: unknown, schema: Plain, path: string): Fault[] {
  if (value === null && schema["nullable"] === true) return [];
  const type = typeFaultOf(value, schema);
  if (type !== undefined) return [mistyped(value, type, path), ...togetherFaults(value, schema, path)];
  return [
    ...valueFaults(value, schema, path),
    ...(Array.isArray(value) ? listFaults(value, schema, path) : []),
    ...(isRecord(value) ? recordFaults(value, schema, path) : []),
    ...togetherFaults(value, schema, path),
  ];
}

function mistyped(value: unknown, type: string, path: string): Fault {
  const message = `Invalid value: "${typeName(value)}": ${path} in body must be of type ${type}: "${typeName(value)}"`;
  return { field: path, reason: "FieldValueTypeInvalid", message };
}

function typeFaultOf(value: unknown, schema: Plain): string | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) {
    return typeof value === "string" || Number.isInteger(value) ? undefined : "integer,string";
  }
  const { type } = schema;
  if (typeof type !== "string" || type === typeName(value)) return undefined;
  return type === "number" && typeof value === "number" ? undefined : type;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function valueFaults(value: unknown, schema: Plain, path: string): Fault[] {
  const values = schema["enum"];
  const isOther = Array.isArray(values) && !values.some((each) => equal(each, value));
  return [
    ...(isOther ? [unsupported(path, value, values)] : []),
    ...(typeof value === "number" ? numberFaults(value, schema, path) : []),
    ...(typeof value === "string" ? textFaults(value, schema, path) : []),
  ];
}

function numberFaults(value: number, schema: Plain, path: string): Fault[] {
  const { minimum, maximum, multipleOf } = schema;
  const isBelow = typeof minimum === "number" && (schema["exclusiveMinimum"] ? value <= minimum : value < minimum);
  const isAbove = typeof maximum === "number" && (schema["exclusiveMaximum"] ? value >= maximum : value > maximum);
  const least = `should be greater than${schema["exclusiveMinimum"] ? "" : " or equal to"} ${minimum}`;
  const most = `should be less than${schema["exclusiveMaximum"] ? "" : " or equal to"} ${maximum}`;
  return [
    ...(isBelow ? [inBody(path, value, least)] : []),
    ...(isAbove ? [inBody(path, value, most)] : []),
    ...(typeof multipleOf === "number" && value % multipleOf !== 0
      ? [inBody(path, value, `should be a multiple of ${multipleOf}`)]
      : []),
  ];
}

const formats: Readonly<Record<string, RegExp>> = {
  "date-time": /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  uuid: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
  ipv4: /^(\d{1,3}\.){3}\d{1,3}$/,
};

function textFaults(value: string, schema: Plain, path: string): Fault[] {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const length = [...value].length;
  const isFormat = formats[String(format)]?.test(value) ?? true;
  return [
    ...(length < Number(minLength) ? [inBody(path, value, `should be at least ${minLength} chars long`)] : []),
    ...(length > Number(maxLength) ? [tooLong(path, maxLength)] : []),
    ...(typeof pattern === "string" && !patternOf(pattern).test(value)
      ? [inBody(path, value, `should match '${pattern}'`)]
      : []),
    ...(isFormat ? [] : [mistyped(value, String(format), path)]),
  ];
}

function listFaults(list: readonly unknown[], schema: Plain, path: string): Fault[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const faults = list.flatMap((element, at) => customFaults(element, fieldsOf(schema["items"]), `${path}[${at}]`));
  if (list.length < Number(minItems)) faults.push(inBody(path, list, `should have at least ${minItems} items`));
  if (list.length > Number(maxItems)) faults.push(tooMany(path, list.length, maxItems));
  return [...faults, ...sameFaults(list, schema, path)];
}

/** Elements that are told apart must not be the same. */
function sameFaults(list: readonly unknown[], schema: Plain, path: string): Fault[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "map" && type !== "set") return [];
  const keys = listOf(schema["x-kubernetes-list-map-keys"]).map(String);
  const keyOf = (element: unknown) =>
    type === "set" ? element : Object.fromEntries(keys.map((name) => [name, fieldsOf(element)[name]]));
  const seen = new Set<string>();
  return list.flatMap((element, at) => {
    const key = JSON.stringify(keyOf(element));
    const isSeen = seen.has(key);
    seen.add(key);
    return isSeen ? [duplicate(`${path}[${at}]`, keyOf(element))] : [];
  });
}

function recordFaults(record: Plain, schema: Plain, path: string): Fault[] {
  const properties = fieldsOf(schema["properties"]);
  const { additionalProperties: others, minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const missing = listOf(schema["required"])
    .map(String)
    .filter((name) => record[name] === undefined);
  const size = Object.keys(record).length;
  const inside = Object.entries(record).flatMap(([name, value]) => {
    const inner = properties[name] ?? others;
    return isRecord(inner) && value !== undefined ? customFaults(value, inner, below(path, name)) : [];
  });
  if (size < Number(minProperties))
    inside.push(inBody(path, record, `should have at least ${minProperties} properties`));
  if (size > Number(maxProperties)) inside.push(tooMany(path, size, maxProperties));
  return [...missing.map((name) => required(below(path, name))), ...inside];
}

/** Schemas that hold together, or of which one holds, or none. */
function togetherFaults(value: unknown, schema: Plain, path: string): Fault[] {
  const [all, any, one] = ["allOf", "anyOf", "oneOf"].map((name) => recordsOf(schema[name]));
  const holds = (each: Plain) => customFaults(value, each, path).length === 0;
  const faults = (all ?? []).flatMap((each) => customFaults(value, each, path));
  const [first] = any ?? [];
  if (first && !any?.some(holds)) {
    faults.push(altogether(path, "must validate at least one schema (anyOf)"), ...customFaults(value, first, path));
  }
  if (one?.length && one.filter(holds).length !== 1) {
    faults.push(altogether(path, "must validate one and only one schema (oneOf)"));
  }
  if (isRecord(schema["not"]) && holds(schema["not"])) {
    faults.push(altogether(path, "must not validate the schema (not)"));
  }
  return faults;
}

/** The server names no field then. */
function altogether(path: string, what: string): Fault {
  return wrong("<nil>", "", `"${path}" ${what}`);
}

const patterns = new Map<string, RegExp>();

function patternOf(text: string): RegExp {
  const found = patterns.get(text) ?? new RegExp(text, "u");
  patterns.set(text, found);
  return found;
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function inBody(path: string, value: unknown, what: string): Fault {
  return wrong(path, value, `${path} in body ${what}`);
}

function tooMany(field: string, count: number, most: unknown): Fault {
  return { field, reason: "FieldValueTooMany", message: `Too many: ${count}: must have at most ${most} items` };
}
