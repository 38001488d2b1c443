/** An object may go from one key to another: then both are woken, also the one that it has left. */
import type { Change } from "../kube/kube.ts";

export function wakeBoth<T>(
  keyOf: (value: T) => string | undefined,
  wake: (key: string) => void,
): (change: Change<T>) => void {
  const before = new Map<string, string>();
  return ({ type, value, namespace = "", name }) => {
    const [place, key] = [`${namespace}/${name}`, keyOf(value)];
    for (const each of new Set([before.get(place), key])) if (each !== undefined) wake(each);
    if (type === "deleted" || key === undefined) before.delete(place);
    else before.set(place, key);
  };
}
