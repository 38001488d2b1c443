/** Whether two JSON values are the same, whatever the order of their fields. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((inner, at) => equal(inner, b[at]));
  }
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && equal(at(a, name), at(b, name)));
}

function at(record: object, name: string): unknown {
  return (record as Record<string, unknown>)[name];
}
