/** What the schema in a definition finds wrong with a custom resource. Rules in CEL are not looked at. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { equal } from "../fields/equal.ts";
import { type Fault, fault } from "../objects/rejections.ts";
import type { Plain } from "./shape.ts";

export function customFaults(value: unknown, schema: Plain, path: string): Fault[] {
  if (value === null && schema["nullable"] === true) return [];
  const own = isMistyped(value, schema)
    ? [fault("TypeInvalid", path, value)]
    : [
        ...valueFaults(value, schema, path),
        ...(Array.isArray(value) ? listFaults(value, schema, path) : []),
        ...(isRecord(value) ? recordFaults(value, schema, path) : []),
      ];
  return [...own, ...togetherFaults(value, schema, path)];
}

function isMistyped(value: unknown, { type, "x-kubernetes-int-or-string": isEither }: Plain): boolean {
  if (isEither === true) return typeof value !== "string" && !Number.isInteger(value);
  if (type === "array") return !Array.isArray(value);
  if (type === "object") return !isRecord(value);
  if (type === "integer") return !Number.isInteger(value);
  return typeof type === "string" && typeof value !== type;
}

function valueFaults(value: unknown, schema: Plain, path: string): Fault[] {
  const { enum: values, minimum = value, maximum = value } = schema;
  const isOther = Array.isArray(values) && !values.some((each) => equal(each, value));
  const isOutside = typeof value === "number" && (value < Number(minimum) || value > Number(maximum));
  return [
    ...(isOther ? [fault("NotSupported", path, value)] : []),
    ...(isOutside ? [fault("Invalid", path, value)] : []),
    ...(typeof value === "string" ? textFaults(value, schema, path) : []),
  ];
}

const time = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function textFaults(value: string, schema: Plain, path: string): Fault[] {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const { length } = [...value];
  const isOther = typeof pattern === "string" && !new RegExp(pattern, "u").test(value);
  return [
    ...(length < Number(minLength) || isOther ? [fault("Invalid", path, value)] : []),
    ...(length > Number(maxLength) ? [fault("TooLong", path)] : []),
    ...(format === "date-time" && !time.test(value) ? [fault("TypeInvalid", path, value)] : []),
  ];
}

function listFaults(list: readonly unknown[], schema: Plain, path: string): Fault[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  return [
    ...list.flatMap((element, at) => customFaults(element, fieldsOf(schema["items"]), `${path}[${at}]`)),
    ...(list.length < Number(minItems) ? [fault("Invalid", path, list)] : []),
    ...(list.length > Number(maxItems) ? [fault("TooMany", path, list.length)] : []),
    ...sameFaults(list, schema, path),
  ];
}

/** Elements with keys must be unique. */
function sameFaults(list: readonly unknown[], schema: Plain, path: string): Fault[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "map" && type !== "set") return [];
  const names = listOf(schema["x-kubernetes-list-map-keys"]).map(String);
  const keys = list.map((element) =>
    JSON.stringify(type === "set" ? element : names.map((name) => fieldsOf(element)[name])),
  );
  return list.flatMap((element, at) =>
    keys.indexOf(keys[at] ?? "") < at ? [fault("Duplicate", `${path}[${at}]`, element)] : [],
  );
}

function recordFaults(record: Plain, schema: Plain, path: string): Fault[] {
  const properties = fieldsOf(schema["properties"]);
  const below = (name: string) => (path === "" ? name : `${path}.${name}`);
  const missing = listOf(schema["required"])
    .map(String)
    .filter((name) => record[name] === undefined);
  const inside = Object.entries(record).flatMap(([name, value]) => {
    const inner = properties[name] ?? schema["additionalProperties"];
    return isRecord(inner) && value !== undefined ? customFaults(value, inner, below(name)) : [];
  });
  return [...missing.map((name) => fault("Required", below(name))), ...inside];
}

/** Schemas that hold together, or of which one holds. */
function togetherFaults(value: unknown, schema: Plain, path: string): Fault[] {
  const [all = [], any = [], one = []] = ["allOf", "anyOf", "oneOf"].map((name) => recordsOf(schema[name]));
  const holds = (each: Plain) => customFaults(value, each, path).length === 0;
  const isNone = any.length > 0 && !any.some(holds);
  const isNotOne = one.length > 0 && one.filter(holds).length !== 1;
  return [
    ...all.flatMap((each) => customFaults(value, each, path)),
    // The server names no field then.
    ...(isNone || isNotOne ? [fault("Invalid", "<nil>", "", `"${path}" must fit one of its schemas`)] : []),
    ...(isNone ? any.slice(0, 1).flatMap((each) => customFaults(value, each, path)) : []),
  ];
}
