/** An object may move from one key to another: both are woken, the one that it has left too. */
import type { Change } from "../kube/kube.ts";

export function wakeBoth<T>(
  keyOf: (value: T) => string | undefined,
  wake: (key: string) => void,
): (change: Change<T>) => void {
  return ({ value, before }) => {
    const left = before && keyOf(before);
    for (const key of new Set([left, keyOf(value)])) if (key !== undefined) wake(key);
  };
}
