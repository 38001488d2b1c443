/** Which attributes of a provider satisfy those that an order asks for. */
import { compileGlob, isPattern } from "./glob.ts";
import type { Attribute } from "./group-spec.ts";

/** Those that nothing satisfies: the key asked for is a pattern, the value must be the same. */
export function unsatisfied(asked: readonly Attribute[], had: readonly Attribute[]): Attribute[] {
  if (asked.length === 0) return [];
  const keysByValue = new Map<string, Set<string>>();
  for (const { key, value } of had) {
    const keys = keysByValue.get(value) ?? new Set();
    keysByValue.set(value, keys.add(key));
  }
  return asked.filter(({ key, value }) => {
    const keys = keysByValue.get(value);
    if (!keys) return true;
    return isPattern(key) ? !matchesAny(key, keys) : !keys.has(key);
  });
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
