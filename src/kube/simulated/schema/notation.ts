/**
 * Reads the types of the API from their short notation. A line is a type and its fields; a line that begins with a
 * space goes on with the type before it. `!` before a type or a map: it belongs to one manager as a whole.
 *
 *     image?:s             left out when it is empty        resources=:T   always there, empty if not given
 *     args:[]s             a list of one manager            ports:[a,b=1]T elements told apart by a and b (1 if absent)
 *     finalizers:[*]s      elements told apart by value     labels:{}s     a map, by key
 *     s i n b              text, integer, number, boolean   q x            quantity, integer or text
 *     t u                  time to the second, to the microsecond
 */
import { invariant } from "../../../runtime/invariant.ts";
import { anything, type Field, type ListKey, type Scalar, type Shape, type StructShape } from "./shape.ts";

const scalars: Readonly<Record<string, Scalar>> = {
  s: "string",
  i: "integer",
  n: "number",
  b: "boolean",
  q: "quantity",
  x: "int-or-string",
  t: "time",
  u: "micro-time",
};

export function readTypes(text: string): ReadonlyMap<string, StructShape> {
  const lines = text.replaceAll(/\n +/g, " ").split("\n").filter(Boolean);
  const types = new Map<string, Growing>();
  for (const line of lines) {
    types.set(nameOf(line), { is: "struct", fields: new Map(), always: [], atomic: line.startsWith("!"), open: false });
  }
  // Only now: a field may be of a type that comes later.
  for (const line of lines) {
    for (const word of line.split(" ").slice(1)) {
      const [, name = "", mark = "", notation = ""] = /^(\w+)([?=]?):(.+)$/.exec(word) ?? [];
      const field = { shape: readShape(notation, types), omitsZero: mark === "?", always: mark === "=" };
      const type = types.get(nameOf(line));
      type?.fields.set(name, field);
      if (field.always) type?.always.push([name, field]);
    }
  }
  return types;
}

interface Growing extends StructShape {
  readonly fields: Map<string, Field>;
  readonly always: [string, Field][];
}

function nameOf(line: string): string {
  return /^!?(\w+)/.exec(line)?.[1] ?? "";
}

function readShape(notation: string, types: ReadonlyMap<string, StructShape>): Shape {
  const [, list, map, rest = ""] = /^(?:\[([^\]]*)\]|(!?\{\}))?(.+)$/.exec(notation) ?? [];
  const of = readPlain(rest, types);
  if (list !== undefined)
    return { is: "list", of, by: list === "" ? "nothing" : list === "*" ? "value" : keysOf(list) };
  if (map !== undefined) return { is: "map", of, atomic: map.startsWith("!") };
  return of;
}

function readPlain(name: string, types: ReadonlyMap<string, StructShape>): Shape {
  if (name === "any") return anything;
  const scalar = scalars[name];
  if (scalar) return { is: "scalar", of: scalar };
  const type = types.get(name.replace("!", ""));
  invariant(type, "a type of the API is there", { name });
  return name.startsWith("!") ? { ...type, atomic: true } : type;
}

function keysOf(text: string): ListKey[] {
  const keys = text.split(",").map((key) => {
    const [name = "", otherwise] = key.split("=");
    return { name, otherwise };
  });
  return keys.sort((a, b) => (a.name < b.name ? -1 : 1));
}
