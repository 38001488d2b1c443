/**
 * A tenant's environment with the names of the variables kept and their values hidden. It comes as the SDL has it
 * (["K=V"]), as Kubernetes has it ([{ name, value }]) or as an object or map of variables.
 */
import { types } from "node:util";
import { limits } from "./limits.ts";
import type { Plain } from "./plain-value.ts";
import { redacted } from "./redact.ts";

/** What may stand before the equals sign; anything else could be part of a value. */
const variableName = /^[A-Za-z_][\w.-]{0,127}$/;
/** Services, their lists, the variables of one and where Kubernetes takes a value from: no environment is deeper. */
const deepest = 4;

type ShowName = (name: string) => string;

export function hideEnvironment(value: unknown, showName: ShowName, depth = 0): Plain {
  if (typeof value === "string") return hideAssignment(value, showName);
  if (value === null || value === undefined) return null;
  if (typeof value !== "object" || depth >= deepest) return redacted;
  if (Array.isArray(value)) return value.slice(0, limits.logEntries).map((item) => hideItem(item, showName, depth + 1));
  if (types.isSet(value)) return hideEnvironment([...value], showName, depth);
  const entries: [unknown, unknown][] = types.isMap(value) ? [...value] : Object.entries(value);
  return hideVariables(entries, showName, depth);
}

function hideAssignment(text: string, showName: ShowName): string {
  const name = text.slice(0, Math.max(0, text.indexOf("=")));
  return variableName.test(name) ? `${showName(name)}=${redacted}` : text && redacted;
}

/** In a list, `name` is the name of a variable; in an object it is a variable called "name". */
function hideItem(item: unknown, showName: ShowName, depth: number): Plain {
  const hidden = hideEnvironment(item, showName, depth);
  if (typeof item !== "object" || item === null || !("name" in item) || typeof item.name !== "string") return hidden;
  if (typeof hidden !== "object" || hidden === null || Array.isArray(hidden)) return hidden;
  return { ...hidden, name: variableName.test(item.name) ? showName(item.name) : redacted };
}

function hideVariables(entries: [unknown, unknown][], showName: ShowName, depth: number): Plain {
  const shown = entries.slice(0, limits.logEntries).map(([name, value]): [string, Plain] => {
    const inner = typeof value === "object" ? hideEnvironment(value, showName, depth + 1) : redacted;
    return [variableName.test(String(name)) ? showName(String(name)) : redacted, inner];
  });
  return Object.fromEntries(shown);
}
