/** Which attributes of a provider satisfy those that an order asks for. */
import { compileGlob, isPattern } from "./glob.ts";
import type { Attribute } from "./group-spec.ts";

/** Those that nothing satisfies: the key asked for is a pattern, the value must be the same. */
export function unsatisfied(asked: readonly Attribute[], had: readonly Attribute[]): Attribute[] {
  const isSatisfied = among(had);
  return asked.filter((attribute) => !isSatisfied(attribute));
}

/** Whether that would be none. */
export function allSatisfied(asked: readonly Attribute[], had: readonly Attribute[]): boolean {
  return asked.every(among(had));
}

/** Most keys are no patterns, and are found at once among those with the same value. */
function among(had: readonly Attribute[]): (asked: Attribute) => boolean {
  const keysByValue = new Map<string, Set<string>>();
  for (const { key, value } of had) {
    const keys = keysByValue.get(value) ?? new Set();
    keysByValue.set(value, keys.add(key));
  }
  return ({ key, value }) => {
    const keys = keysByValue.get(value);
    return keys !== undefined && (isPattern(key) ? matchesAny(key, keys) : keys.has(key));
  };
}

function matchesAny(pattern: string, keys: ReadonlySet<string>): boolean {
  const matches = compileGlob(pattern);
  if (!matches) return false;
  for (const key of keys) if (matches(key)) return true;
  return false;
}

export function showAttribute({ key, value }: Attribute): string {
  return `${key}=${value}`;
}
