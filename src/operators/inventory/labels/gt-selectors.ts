/**
 * Storage class labels have one key and two readings: the seeds' selectors want "true", the network's own provider asks
 * for a number greater than zero (`Gt`), for which "true" is none. So the labels say "1" while any workload asks so.
 *
 * Pods tell it all, pending ones first of all; the templates they come from need not be watched. A pod that finds no
 * node because the label still says "true" is itself the sign, and the scheduler tries again when the label changes.
 */
import { fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import { storageClassPrefix } from "../../../kube/node-labels.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";

/** A workload that is restarted or moved has its next pod well within this. */
export const inventoryGtKeptMs = 10 * minute;

const none: readonly string[] = [];

/** The storage class labels that a pod selects with `Gt`. */
export function gtSelectedKeys(podSpec: unknown): readonly string[] {
  const affinity = fieldsOf(fieldsOf(podSpec)["affinity"]);
  const required = fieldsOf(affinity["nodeAffinity"])["requiredDuringSchedulingIgnoredDuringExecution"];
  const keys = recordsOf(fieldsOf(required)["nodeSelectorTerms"])
    .flatMap((term) => recordsOf(term["matchExpressions"]))
    .filter(({ operator }) => operator === "Gt")
    .map(({ key }) => textOf(key) ?? "")
    .filter((key) => key.startsWith(storageClassPrefix));
  return keys.length === 0 ? none : [...new Set(keys)];
}

/**
 * Given what pods select now, tells what counts as selected: also what was a while ago. A workload that restarts has no
 * pod for a moment; without this every such moment would rewrite the label on all nodes, twice.
 */
export function createGtMemory(
  clock: Pick<Clock, "monotonicMs">,
  keptMs: number = inventoryGtKeptMs,
): (selected: ReadonlySet<string>) => ReadonlySet<string> {
  const lastSeenMs = new Map<string, number>();
  return (selected) => {
    const nowMs = clock.monotonicMs();
    for (const key of selected) lastSeenMs.set(key, nowMs);
    for (const [key, seenMs] of lastSeenMs) if (nowMs - seenMs >= keptMs) lastSeenMs.delete(key);
    return new Set(lastSeenMs.keys());
  };
}
