/** The shapes of the kinds that every cluster has. */
import { coreTypes } from "./core-types.ts";
import { customShape } from "./custom-shape.ts";
import { groupTypes } from "./group-types.ts";
import { readTypes } from "./notation.ts";
import { podTypes } from "./pod-types.ts";
import type { StructShape } from "./shape.ts";

let types: ReadonlyMap<string, StructShape> | undefined;

/** A kind whose fields nobody wrote down takes whatever it is given. */
export function builtInShape(name: string): StructShape {
  // Read when the first one is asked for: a provider on a real cluster never needs them.
  types ??= readTypes(`${podTypes}${coreTypes}${groupTypes}`);
  return types.get(name) ?? customShape(undefined, objectMeta());
}

export function objectMeta(): StructShape {
  return builtInShape("ObjectMeta");
}
