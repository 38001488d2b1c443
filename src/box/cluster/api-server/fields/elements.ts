/** What identifies the elements of a list. */
import { isRecord } from "../../../../runtime/is-record.ts";
import type { ListShape } from "../schema/shape.ts";

/** The step to an element: by its key fields or by its value. */
export function elementStep(element: unknown, { by }: ListShape): string {
  if (by === "value" || by === "nothing" || !isRecord(element)) return `v:${JSON.stringify(element)}`;
  const keys: Record<string, unknown> = {};
  for (const { name, otherwise } of by) {
    const value = element[name] ?? otherwise;
    if (value !== undefined) keys[name] = value;
  }
  return `k:${JSON.stringify(keys)}`;
}

/** Elements by their steps; those that share one come together. */
export function bySteps(list: readonly unknown[], shape: ListShape): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const element of list) {
    const step = elementStep(element, shape);
    const same = found.get(step);
    if (same) same.push(element);
    else found.set(step, [element]);
  }
  return found;
}
