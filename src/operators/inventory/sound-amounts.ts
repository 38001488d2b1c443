/**
 * What everything that is sold relies on: no amount is negative, and where more is taken than there is, a condition says
 * so. It is checked wherever amounts are made, and nothing that does not hold is bent until it does.
 */
import { invariant } from "../../runtime/invariant.ts";
import type { Amounts, Condition } from "./inventory.ts";

/** They have the evidence of what is missing, or say that nobody knows what there is. */
const explaining = new Set(["Overbooked", "StorageUnreadable"]);

export function assertSound(owner: string, amounts: readonly Amounts[], conditions: readonly Condition[]): void {
  for (const { capacity, allocatable, allocated } of amounts) {
    const details = { owner, capacity, allocatable, allocated };
    invariant(capacity >= 0n && allocatable >= 0n && allocated >= 0n, "an amount is negative", details);
    if (allocated <= allocatable) continue;
    const isExplained = conditions.some(({ type }) => explaining.has(type));
    invariant(isExplained, "more is taken than there is, and no condition says so", details);
  }
}
