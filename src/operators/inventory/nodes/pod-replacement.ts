/** When a node's discovery pod may be made again, and when one of another version may be replaced. */
import { growingPauseMs } from "../../../runtime/back-off.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { jitter, type Random } from "../../../runtime/random.ts";

/** First pause between two discovery pods of a node: one that was evicted or ended by hand may be back soon. */
const discoveryRemakeFirstMs = 10 * second;
/** Longest one: what is known of a full node stays, so there is no hurry, and a dozen pods an hour are no burden. */
const discoveryRemakeMostMs = 5 * minute;
/** A pod that lasted so long was well; longer than any pause, or one that is turned away would count as well. */
const discoveryLastedMs = 10 * minute;
/** Nodes whose discovery pod is replaced by another version's at once: a thousand take minutes, and a bad one stops here. */
export const discoveryReplacedAtOnce = 5;
/** A successor that has not answered by then no longer holds up the others: some nodes never let one run. */
export const discoveryReplaceMs = 5 * minute;

interface Making {
  /** How many in a row that did not last, this one included. */
  readonly times: number;
  readonly atMs: number;
  readonly nextMs: number;
}

/**
 * How soon a node may have its next discovery pod. One that the kubelet turns away, or that somebody keeps deleting,
 * would otherwise be made again at once, for ever. The pause grows with every pod that did not last.
 */
export function createRemakeBackOff({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
  const makings = new Map<string, Making>();
  return {
    /** How long until the next one may be made; 0 for now. */
    waitMs: (node: string) => Math.max(0, (makings.get(node)?.nextMs ?? 0) - clock.monotonicMs()),
    made(node: string): void {
      const atMs = clock.monotonicMs();
      const before = makings.get(node);
      const times = before && atMs - before.atMs < discoveryLastedMs ? before.times + 1 : 1;
      const pauseMs = growingPauseMs(discoveryRemakeFirstMs, discoveryRemakeMostMs, times);
      makings.set(node, { times, atMs, nextMs: atMs + jitter(random, pauseMs) });
    },
    forget: (node: string) => void makings.delete(node),
  };
}

/**
 * Which nodes are without a discovery pod because theirs is being replaced: a few at a time. If the new version cannot
 * run, most nodes keep a pod that answers, and a restart of the operator still learns their gpus from it.
 */
export function createRollout(clock: Clock, wake: (node: string) => void) {
  const underWay = new Map<string, number>();
  const waiting = new Set<string>();

  return {
    /** Whether this node's pod may be replaced now; if not, the node is woken when it may. */
    begin(node: string): boolean {
      const nowMs = clock.monotonicMs();
      for (const [other, untilMs] of underWay) if (untilMs <= nowMs) underWay.delete(other);
      if (!underWay.has(node) && underWay.size >= discoveryReplacedAtOnce) {
        waiting.add(node);
        return false;
      }
      waiting.delete(node);
      underWay.set(node, nowMs + discoveryReplaceMs);
      return true;
    },
    /** Its successor has answered, or none is wanted any more. */
    end(node: string): void {
      waiting.delete(node);
      if (!underWay.delete(node)) return;
      const [next] = waiting;
      if (next !== undefined) wake(next);
    },
  };
}
