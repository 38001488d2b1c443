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

/** The line that this is written into. */
export interface EnvironmentLine {
  showName(name: string): string;
  hasRoom(): boolean;
}

export function hideEnvironment(value: unknown, line: EnvironmentLine, depth = 0): Plain {
  if (!line.hasRoom()) return redacted;
  if (typeof value === "string") return hideAssignment(value, line);
  if (value === null || value === undefined) return null;
  if (typeof value !== "object" || depth >= deepest) return redacted;
  if (Array.isArray(value)) return value.slice(0, limits.logEntries).map((item) => hideItem(item, line, depth + 1));
  if (types.isSet(value)) return hideEnvironment([...value], line, depth);
  return hideVariables(types.isMap(value) ? [...value] : Object.entries(value), line, depth + 1);
}

function hideAssignment(text: string, line: EnvironmentLine): string {
  if (text === "") return text;
  const name = text.slice(0, Math.max(0, text.indexOf("=")));
  return variableName.test(name) ? `${line.showName(name)}=${redacted}` : redacted;
}

/** In a list, `name` is the name of a variable; in an object it is a variable called "name". */
function hideItem(item: unknown, line: EnvironmentLine, depth: number): Plain {
  const hidden = hideEnvironment(item, line, depth);
  if (typeof item !== "object" || item === null || !("name" in item) || typeof item.name !== "string") return hidden;
  if (typeof hidden !== "object" || hidden === null || Array.isArray(hidden)) return hidden;
  return { ...hidden, name: showVariable(item.name, line) };
}

function hideVariables(variables: readonly [unknown, unknown][], line: EnvironmentLine, depth: number): Plain {
  const shown = variables.slice(0, limits.logEntries).map(([name, value]): [string, Plain] => {
    const isNested = typeof value === "object" && value !== null;
    return [showVariable(String(name), line), isNested ? hideEnvironment(value, line, depth) : redacted];
  });
  return Object.fromEntries(shown);
}

function showVariable(name: string, line: EnvironmentLine): string {
  return variableName.test(name) ? line.showName(name) : redacted;
}
