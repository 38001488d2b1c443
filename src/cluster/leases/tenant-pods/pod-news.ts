/** That something of a lease's pods has changed, for whoever follows them for a while. */
import { createListeners } from "../../../runtime/listeners.ts";
import type { LeasePods } from "../../capacity/reservations/lease-watches.ts";

export interface PodNews {
  /** Told of every change in a namespace; the answer ends it. */
  on(namespace: string, listener: () => void): () => void;
  /** Resolves with the next one, or with the signal. */
  next(namespace: string, signal: AbortSignal): Promise<void>;
}

export function createPodNews(pods: Pick<LeasePods, "onChange">): PodNews {
  const { of, on } = createListeners<() => void>();
  pods.onChange(({ value }) => {
    for (const tell of of(value.namespace)) tell();
  });

  return {
    on,
    async next(namespace, signal) {
      if (signal.aborted) return;
      const told = Promise.withResolvers<void>();
      const stop = on(namespace, told.resolve);
      signal.addEventListener("abort", told.resolve as () => void, { once: true });
      await told.promise;
      signal.removeEventListener("abort", told.resolve as () => void);
      stop();
    },
  };
}
