/** A custom resource as it is stored: what its definition does not know is dropped, what it has a default for is there. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { conform } from "./conform.ts";
import type { Plain, Shape, StructShape } from "./shape.ts";

export function pruneCustom(object: Plain, shape: Shape): Plain {
  if (shape.is !== "struct") return object;
  const { metadata, ...rest } = object;
  return { ...pruneStruct(rest, shape), metadata: conform(metadata, shape.fields.get("metadata")?.shape ?? shape) };
}

/** What is of another type is left as it is, for the check to find. */
function prune(value: unknown, shape: Shape): unknown {
  if (shape.is === "list" && Array.isArray(value)) return value.map((element) => prune(element, shape.of));
  if (!isRecord(value)) return value;
  if (shape.is === "struct") return pruneStruct(value, shape);
  if (shape.is !== "map") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, prune(inner, shape.of)]));
}

function pruneStruct(value: Plain, { fields, always, open }: StructShape): Plain {
  const out: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name);
    const isKept = field ? inner !== null || field.nullable : open;
    if (isKept) out[name] = field ? prune(inner, field.shape) : inner;
  }
  for (const [name, { otherwise, shape }] of always) {
    if (!(name in out)) out[name] = prune(structuredClone(otherwise), shape);
  }
  return out;
}
