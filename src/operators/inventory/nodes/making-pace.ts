/**
 * How soon a node may have its next discovery pod. One that the kubelet turns away, or that somebody keeps deleting,
 * would otherwise be made again at once, for ever. The pause grows with every pod that did not last.
 */
import { growingPauseMs } from "../../../runtime/back-off.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import { jitter, type Random } from "../../../runtime/random.ts";

export interface MakingPace {
  /** How long until the next one may be made; 0 for now. */
  waitMs(node: string): number;
  made(node: string): void;
  forget(node: string): void;
}

interface Making {
  /** How many in a row that did not last, this one included. */
  readonly times: number;
  readonly atMs: number;
  readonly nextMs: number;
}

export function createMakingPace({ clock, random }: { readonly clock: Clock; readonly random: Random }): MakingPace {
  const makings = new Map<string, Making>();
  return {
    waitMs: (node) => Math.max(0, (makings.get(node)?.nextMs ?? 0) - clock.monotonicMs()),
    made(node) {
      const atMs = clock.monotonicMs();
      const before = makings.get(node);
      const times = before && atMs - before.atMs < limits.discoveryLastedMs ? before.times + 1 : 1;
      const pauseMs = growingPauseMs(limits.discoveryRemakeFirstMs, limits.discoveryRemakeMostMs, times);
      makings.set(node, { times, atMs, nextMs: atMs + jitter(random, pauseMs) });
    },
    forget: (node) => void makings.delete(node),
  };
}
