/** Applies an object, unless somebody changes it back each time: then it is left for a while, and that is told. */
import { type Kind, objectText } from "../../kube/kinds.ts";
import type { Applied, Kube, KubeObject } from "../../kube/kube.ts";
import type { OwnedFields } from "../../kube/owned-fields.ts";
import type { Clock } from "../../runtime/clock.ts";
import { contestedWrites, createWritePace } from "../write-pace.ts";

/** One look at a key. */
export interface Turn {
  readonly signal: AbortSignal;
  /** Something of it is left as it is for so long. */
  readonly contested: (message: string, pauseMs: number) => void;
}

export type PacedApply = ReturnType<typeof createPacedApply>;

export function createPacedApply(kube: Pick<Kube, "apply">, clock: Clock) {
  const pace = createWritePace(clock);

  /** Undefined where it was left as it is. */
  return async (
    kind: Kind,
    desired: KubeObject,
    live: OwnedFields | null,
    { signal, contested }: Turn,
  ): Promise<Applied | undefined> => {
    const object = objectText(kind, desired.metadata);
    const tell = () => {
      const pauseMs = pace.pauseMs(object);
      if (pauseMs > 0) contested(`${object} was written ${contestedWrites} times within a minute`, pauseMs);
      return pauseMs > 0;
    };
    if (tell()) return undefined;
    const applied = await kube.apply(kind, desired, { live, force: true, signal });
    if (applied.written) {
      pace.wrote(object);
      tell();
    }
    return applied;
  };
}
