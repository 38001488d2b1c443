/**
 * Time-out stamps for unordered transactions: strictly increasing, so that none is ever used twice. The journal keeps the
 * highest one with the transaction that bears it; a stamp that was never written down was never sent. Only one that an
 * expiry bounds may lie below an earlier one: it keeps a distance from the expiry that is another one in every run, since
 * the chain may have taken a stamp for the same expiry from a run before, and would take none like it again.
 */
import { largest, smallest } from "../../runtime/bigint.ts";
import { limits } from "../../runtime/limits.ts";
import type { Head } from "./broadcaster.ts";

export interface Stamps {
  /**
   * None after the latest time that is given. Undefined when the next one would lie further ahead than the chain takes:
   * only time helps then.
   */
  next(head: Head, nowMs: number, latestNs?: bigint): bigint | undefined;
}

const nsPerMs = 1_000_000n;

/** `startMs` is when this run began. */
export function createStamps(lastNs: bigint, inUse: Iterable<bigint> = [], startMs = 0): Stamps {
  let highestNs = lastNs;
  /** Less than a millisecond, which is as exact as an expiry. */
  const distanceNs = BigInt(Math.floor(startMs)) % nsPerMs;
  /** Used, and not passed yet. */
  const used = new Set(inUse);

  function free(fromNs: bigint, step: bigint): bigint {
    let stampNs = fromNs;
    while (used.has(stampNs)) stampNs += step;
    return stampNs;
  }

  return {
    next(head, nowMs, latestNs) {
      const lifeNs = BigInt(limits.outboxStampMs) * nsPerMs;
      const furthestNs = head.timeNs + BigInt(limits.outboxStampAheadMs) * nsPerMs;
      // Our clock counts as long as the chain's agrees: after a halt the next block's time is now, not the last one's.
      const byClockNs = BigInt(Math.floor(nowMs)) * nsPerMs + lifeNs;
      const byChainNs = head.timeNs + lifeNs;
      const wantedNs = smallest(largest(byClockNs, byChainNs), furthestNs);
      const growingNs = free(largest(wantedNs, highestNs + 1n), 1n);
      const isBounded = latestNs !== undefined && latestNs < growingNs;
      if (!isBounded && growingNs > furthestNs + tieBreakNs) return undefined;
      const stampNs = isBounded ? free(latestNs - distanceNs, -1n) : growingNs;
      for (const each of used) if (each < head.timeNs) used.delete(each);
      used.add(stampNs);
      highestNs = largest(highestNs, stampNs);
      return stampNs;
    },
  };
}

/** Transactions of one instant differ by nanoseconds; a second of those is more than there ever are. */
const tieBreakNs = 1_000_000_000n;
