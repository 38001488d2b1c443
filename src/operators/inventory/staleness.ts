/** What is shown stays as it was while the cluster cannot be heard, and says so. */

import type { WatchCache } from "../../kube/kube.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** By what they hold, in words. */
export type Caches = Readonly<Record<string, WatchCache<unknown>>>;

/** Why these caches may be out of date. A kind that is not installed has no objects that one could miss. */
export function staleness(caches: Caches): Condition[] {
  return Object.entries(caches).flatMap(([what, { ready, trouble, size }]) => {
    if (!trouble || (size === 0 && ProviderError.is(trouble, "AKP_KUBE_KIND_MISSING"))) return [];
    const state = ready ? "may be out of date" : "were not seen yet";
    return [condition("Stale", `${what} ${state}: ${trouble.message}`)];
  });
}

/** Why these caches cannot be believed yet; undefined when all were filled. */
export function waitingFor(caches: Caches): string | undefined {
  for (const [what, cache] of Object.entries(caches)) {
    if (!cache.ready) return `${what} were not seen yet${cache.trouble ? `: ${cache.trouble.message}` : ""}`;
  }
  return undefined;
}
