/**
 * Chain time in which no tenant could send a manifest: we were down, behind, or could not read the cluster. Deadlines move by it.
 */
import type { Chain } from "../chain/chain.ts";
import { manifestDeadline } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import { nsToMs } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";

/** The mirror is usually one block behind the head: that one is being read. */
const lagBlocks = 3n;
/** Block times without a block after which manifests were not received either: a slow block or two is not an outage. */
const missedBlocks = 5;

export type MissedTime = ReturnType<typeof createMissedTime>;

/**
 * `graceMs`: left of each deadline after an outage, or the outage's length if that is less: repeated short outages hold no
 * lease for ever.
 */
export function createMissedTime(
  chain: Pick<Chain, "mirror" | "queries" | "status" | "resumedAt">,
  journal: Pick<Journal, "durable">,
  graceMs: number,
) {
  const { mirror, queries, resumedAt } = chain;
  /** Chain time up to which manifests could be sent; undefined until that of the last run is known. */
  let reachableMs: number | undefined;
  let isAway = true;
  let missedMs = 0;
  let last: Promise<unknown> = Promise.resolve();

  const isBehind = () => (chain.status.head ?? mirror.height) - mirror.height >= lagBlocks;

  /** True when deadlines have to be moved. */
  function note(): boolean {
    if (reachableMs === undefined || isAway || isBehind()) return false;
    const sinceMs = nsToMs(mirror.timeNs) - reachableMs;
    reachableMs += sinceMs;
    if (sinceMs > missedBlocks * chain.status.blockTimeMs) missedMs += sinceMs;
    return missedMs > 0;
  }

  async function moveDeadlines(signal: AbortSignal): Promise<boolean> {
    if (isBehind()) return false;
    reachableMs ??= await lastRunMs(signal);
    const nowMs = nsToMs(mirror.timeNs);
    const isDue = isAway || note();
    if (isAway) missedMs += nowMs - reachableMs;
    reachableMs = nowMs;
    isAway = false;
    if (!isDue) return true;
    const byMs = missedMs;
    await journal.durable("manifest deadlines", ({ deadlines }) =>
      deadlines.postpone(manifestDeadline, byMs, nowMs + Math.min(byMs, graceMs)),
    );
    missedMs -= byMs;
    return true;
  }

  /** Nodes keep some of the last blocks; what is older need not be known exactly. */
  async function lastRunMs(signal: AbortSignal): Promise<number> {
    if (resumedAt === undefined) return nsToMs(mirror.timeNs);
    try {
      return nsToMs(await queries.blockTimeNs(resumedAt, { signal }));
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED")) throw thrown;
      return nsToMs(mirror.timeNs) - Number(mirror.height - resumedAt) * chain.status.blockTimeMs;
    }
  }

  return {
    note,
    /** The cluster cannot be read, or could not when a tenant came. */
    away(): void {
      isAway = true;
    },
    /** The cluster was read: what was missed is added to all deadlines. False while the mirror is behind the chain. */
    settle(signal: AbortSignal): Promise<boolean> {
      const mine = last.then(() => moveDeadlines(signal));
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
