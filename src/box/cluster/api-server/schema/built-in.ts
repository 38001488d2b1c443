/** The shapes of the kinds that every cluster has, as its API server describes them (lab/openapi.ts). */
import { readFileSync } from "node:fs";
import type { Kind } from "../../../../kube/kinds.ts";
import { invariant } from "../../../../runtime/invariant.ts";
import { createShapes } from "./read-shape.ts";
import type { Plain, Shape, StructShape } from "./shape.ts";

let shapes: ((name: string) => Shape) | undefined;

/** "core.v1.Pod" */
export function builtInShape(name: string): StructShape {
  // Read on first use: a provider on a real cluster never needs them.
  shapes ??= createShapes(readDefinitions());
  const shape = shapes(name);
  invariant(shape.is === "struct", "a type of the API is there", { name });
  return shape;
}

export function shapeOfKind({ group, version, kind }: Kind): StructShape {
  return builtInShape(`${group === "" ? "core" : group.split(".")[0]}.${version}.${kind}`);
}

export function objectMeta(): StructShape {
  return builtInShape("meta.v1.ObjectMeta");
}

function readDefinitions(): Record<string, Plain> {
  const definitions = JSON.parse(readFileSync(new URL("openapi.json", import.meta.url), "utf8"));
  // Who owns what is written by the server alone, elsewhere.
  delete definitions["meta.v1.ObjectMeta"].properties.managedFields;
  return definitions;
}
