/** Where a stale cache is noticed: how long ago the server was heard of, and what went wrong since. */
import type { Clock } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";

/** A cache that was not confirmed for so long says so. A dead connection is noticed and made anew before. */
export const kubeStaleMs = minute;

interface Freshness {
  /** The server told us something, if only that it is there. */
  heard(): void;
  failed(error: ProviderError): void;
  /** Why the cache may be out of date right now, if it may. */
  readonly trouble: Error | undefined;
  readonly ageMs: number;
}

export function createFreshness(resource: string, clock: Clock, log: Log): Freshness {
  let heardMs = clock.monotonicMs();
  let failure: Error | undefined;
  const ageMs = () => clock.monotonicMs() - heardMs;
  return {
    heard() {
      heardMs = clock.monotonicMs();
      if (failure) log.info("watch resumed");
      failure = undefined;
    },
    failed(error) {
      if (failure?.message !== error.message) log.info("watch interrupted", { error });
      failure = error;
    },
    get trouble() {
      if (failure) return failure;
      // Whatever the reason: what was not confirmed for so long is not to be relied on.
      if (ageMs() <= kubeStaleMs) return undefined;
      return new ProviderError("AKP_KUBE_STALE", { resource, seconds: kubeStaleMs / 1_000 });
    },
    get ageMs() {
      return ageMs();
    },
  };
}
