/** Why nothing may be judged by caches of the cluster right now, in words for an operator; undefined where it may. */

import type { WatchCache } from "../kube/kube.ts";
import { cacheProblem } from "../kube/kube.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";

/** How often it is looked whether the cluster may be relied on again: all leases wait for that. */
export const cacheLookMs = second;

export function cachesError(caches: readonly WatchCache<unknown>[]): string | undefined {
  for (const cache of caches) {
    const error = errorOf(cache);
    if (error !== undefined) return error;
  }
  return undefined;
}

function errorOf(cache: WatchCache<unknown>): string | undefined {
  const { resource, error } = cache;
  if (ProviderError.is(error, "AKP_KUBE_KIND_MISSING") && resource.endsWith(".akash.network")) {
    return `the cluster does not know ${resource}: run \`akash-provider install crds\``;
  }
  return cacheProblem(cache);
}

/** What is not known now is no answer. */
export function checkKnown(reason: string | undefined): void {
  if (reason !== undefined) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason });
}

/** Polls: no event says that a cache has become too old. */
export async function pollError(
  error: () => string | undefined,
  onLook: (now: string | undefined, before: string | undefined) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let before = error();
  while (!signal.aborted) {
    await sleep(clock, cacheLookMs, signal);
    const now = error();
    onLook(now, before);
    before = now;
  }
}
