/** That something of a lease's pods has changed, for whoever follows them for a while. */
import type { LeasePods } from "../reservations/lease-pods.ts";

export interface PodNews {
  /** Told of every change in a namespace; the answer ends it. */
  on(namespace: string, listener: () => void): () => void;
  /** Resolves with the next one, or with the signal. */
  next(namespace: string, signal: AbortSignal): Promise<void>;
}

export function createPodNews(pods: Pick<LeasePods, "onChange">): PodNews {
  const listeners = new Map<string, Set<() => void>>();
  pods.onChange(({ value }) => {
    for (const tell of [...(listeners.get(value.namespace) ?? [])]) tell();
  });

  function on(namespace: string, listener: () => void): () => void {
    const own = listeners.get(namespace) ?? new Set();
    listeners.set(namespace, own.add(listener));
    return () => {
      own.delete(listener);
      if (own.size === 0 && listeners.get(namespace) === own) listeners.delete(namespace);
    };
  }

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
