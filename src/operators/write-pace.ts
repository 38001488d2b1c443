/**
 * Limits writes of one object: two programs that both want it their way would write it as fast as the server allows.
 */

import { type Kind, objectText } from "../kube/kinds.ts";
import type { Applied, Kube, KubeObject } from "../kube/kube.ts";
import type { OwnedFields } from "../kube/owned-fields.ts";
import type { Clock } from "../runtime/clock.ts";
import { minute } from "../runtime/durations.ts";

/** Writes of one object within that time before it is left alone for as long; people and scripts come to one or two. */
export const contestedWrites = 10;
export const contestedWithinMs = minute;

export type WritePace = ReturnType<typeof createWritePace>;

export function createWritePace(clock: Pick<Clock, "monotonicMs">) {
  /** When each object was written of late, the one written last at the end. */
  const written = new Map<string, readonly number[]>();

  const recent = (object: string): readonly number[] => {
    const sinceMs = clock.monotonicMs() - contestedWithinMs;
    return (written.get(object) ?? []).filter((atMs) => atMs > sinceMs);
  };

  function forget(): void {
    for (const object of written.keys()) {
      if (recent(object).length > 0) return;
      written.delete(object);
    }
  }

  return {
    wrote(object: string): void {
      const times = [...recent(object), clock.monotonicMs()];
      written.delete(object);
      written.set(object, times);
      forget();
    },
    /** How long it may not be written; 0 where it may. */
    pauseMs(object: string): number {
      const [oldest = 0, ...others] = recent(object).slice(-contestedWrites);
      const isContested = others.length + 1 >= contestedWrites;
      return isContested ? oldest + contestedWithinMs - clock.monotonicMs() : 0;
    },
    /** Until it was not written for so long, a minute at most; 0 when it was not. */
    unsettledMs(object: string, forMs: number, sinceMs = Number.NEGATIVE_INFINITY): number {
      return Math.max(0, (recent(object).at(-1) ?? sinceMs) + forMs - clock.monotonicMs());
    },
    get size(): number {
      return written.size;
    },
  };
}

export interface WriteTurn {
  readonly signal: AbortSignal;
  /** Reports an object that is not written for this long. */
  readonly contested: (message: string, pauseMs: number) => void;
}

export type PacedApply = ReturnType<typeof createPacedApply>;

export function createPacedApply(kube: Pick<Kube, "apply">, clock: Clock) {
  const pace = createWritePace(clock);

  /** Undefined where it was not written because of a pause. */
  return async (
    kind: Kind,
    desired: KubeObject,
    live: OwnedFields | null,
    { signal, contested }: WriteTurn,
  ): Promise<Applied | undefined> => {
    const object = objectText(kind, desired.metadata);
    const isPaused = () => {
      const pauseMs = pace.pauseMs(object);
      if (pauseMs > 0) contested(`${object} was written ${contestedWrites} times within a minute`, pauseMs);
      return pauseMs > 0;
    };
    if (isPaused()) return undefined;
    const applied = await kube.apply(kind, desired, { live, force: true, signal });
    if (applied.written) {
      pace.wrote(object);
      isPaused();
    }
    return applied;
  };
}

/** Whether this copy writes, and since when: what was written before is not known, and counts as written then. */
export class Lead {
  signal: AbortSignal | undefined;
  sinceMs = Number.NEGATIVE_INFINITY;

  get leading(): AbortSignal | undefined {
    return this.signal?.aborted ? undefined : this.signal;
  }
}
