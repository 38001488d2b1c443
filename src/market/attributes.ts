/** Which attributes of a provider satisfy those that an order asks for. */
import { compileGlob } from "./glob.ts";
import type { Attribute } from "./group-spec.ts";

/** Those that nothing satisfies: the key asked for is a pattern, the value must be the same. */
export function unsatisfied(asked: readonly Attribute[], had: readonly Attribute[]): Attribute[] {
  return asked.filter(({ key, value }) => {
    const matches = compileGlob(key);
    return !had.some((attribute) => attribute.value === value && matches?.(attribute.key));
  });
}

export function showAttribute({ key, value }: Attribute): string {
  return `${key}=${value}`;
}
