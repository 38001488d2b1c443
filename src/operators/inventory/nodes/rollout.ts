/**
 * Which nodes are without a discovery pod because theirs is being replaced: a few at a time. If the new version cannot
 * run, most nodes keep a pod that answers, and a restart of the operator still learns their gpus from it.
 */
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";

export interface Rollout {
  /** Whether this node's pod may be replaced now; if not, the node is woken when it may. */
  begin(node: string): boolean;
  /** Its successor has answered, or none is wanted any more. */
  end(node: string): void;
}

export function createRollout(clock: Clock, wake: (node: string) => void): Rollout {
  const underWay = new Map<string, number>();
  const waiting = new Set<string>();

  return {
    begin(node) {
      const nowMs = clock.monotonicMs();
      for (const [other, untilMs] of underWay) if (untilMs <= nowMs) underWay.delete(other);
      if (!underWay.has(node) && underWay.size >= limits.discoveryReplacedAtOnce) {
        waiting.add(node);
        return false;
      }
      waiting.delete(node);
      underWay.set(node, nowMs + limits.discoveryReplaceMs);
      return true;
    },
    end(node) {
      waiting.delete(node);
      if (!underWay.delete(node)) return;
      const [next] = waiting;
      if (next !== undefined) wake(next);
    },
  };
}
