/** What an operator should know of drift: what does not heal by itself, and that nobody could look. */
import { limits } from "../../runtime/limits.ts";
import type { Reconciler } from "./reconciler.ts";

export interface DriftCondition {
  readonly type: "Drift" | "ReconcileSkipped";
  /** What differs. */
  readonly subject?: string;
  readonly message: string;
}

export function driftConditions({ lasting, skipped }: Pick<Reconciler, "lasting" | "skipped">): DriftCondition[] {
  const all = lasting();
  const named = all.slice(0, limits.reconcileConditions);
  const conditions: DriftCondition[] = named.map(({ kind, subject, evidence }) => ({
    type: "Drift",
    subject: `${kind} ${subject}`,
    message: `${kind} ${subject}: ${evidence}`,
  }));
  if (all.length > named.length) {
    conditions.push({
      type: "Drift",
      message: `${all.length - named.length} more: akash-provider reconcile --dry-run`,
    });
  }
  if (skipped)
    conditions.push({
      type: "ReconcileSkipped",
      message: `chain, cluster and journal are not compared: ${skipped.why}`,
    });
  return conditions;
}
