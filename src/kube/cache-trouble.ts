/** Why nothing may be judged by a cache right now, in words for an operator; undefined where it may. */
import { reasonOf } from "../runtime/errors.ts";
import type { WatchCache } from "./kube.ts";

export function cacheTrouble({ resource, ready, trouble }: WatchCache<unknown>): string | undefined {
  if (trouble) return `${resource} are not followed: ${reasonOf(trouble)}`;
  return ready ? undefined : `the ${resource} of the cluster have not been read yet`;
}

/** The first of several. */
export function firstTrouble(caches: readonly WatchCache<unknown>[]): string | undefined {
  return caches.map(cacheTrouble).find((trouble) => trouble !== undefined);
}
