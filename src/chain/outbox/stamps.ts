/**
 * Time-out stamps for unordered transactions: strictly increasing, so that none is ever used twice. The journal keeps the
 * highest one with the transaction that bears it; a stamp that was never written down was never sent.
 */
import { limits } from "../../runtime/limits.ts";
import type { Head } from "./broadcaster.ts";

export interface Stamps {
  /** Undefined when the next one would lie further ahead than the chain takes: only time helps then. */
  next(head: Head, nowMs: number): bigint | undefined;
}

const nsPerMs = 1_000_000n;

export function createStamps(lastNs: bigint): Stamps {
  let usedNs = lastNs;
  return {
    next(head, nowMs) {
      const lifeNs = BigInt(limits.outboxStampMs) * nsPerMs;
      const furthestNs = head.timeNs + BigInt(limits.outboxStampAheadMs) * nsPerMs;
      // Our clock counts as long as the chain's agrees: after a halt the next block's time is now, not the last one's.
      const byClockNs = BigInt(Math.floor(nowMs)) * nsPerMs + lifeNs;
      const byChainNs = head.timeNs + lifeNs;
      const wantedNs = min(max(byClockNs, byChainNs), furthestNs);
      const stampNs = max(wantedNs, usedNs + 1n);
      if (stampNs > furthestNs + tieBreakNs) return undefined;
      usedNs = stampNs;
      return stampNs;
    },
  };
}

/** Transactions of one instant differ by nanoseconds; a second of those is more than there ever are. */
const tieBreakNs = 1_000_000_000n;

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
