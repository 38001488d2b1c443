/** Measures the block time of the chain and compares the local clock with block timestamps. */
import { type Clock, nsToMs } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";

/** Bounds of the measured time between blocks, so that one odd header cannot put the watchdog to sleep. */
export const rpcBlockTimeLeastMs = 50;
const rpcBlockTimeMostMs = 30 * second;
/** Until two blocks were seen: that of the network. */
export const rpcBlockTimeFirstMs = 6 * second;
/** New blocks are seen within ten seconds of their time; tokens and certificates bear less than a minute of error. */
export const rpcClockSkewMs = 30 * second;
/** New blocks in a row that must say so before the local clock is doubted. */
export const rpcClockSkewBlocks = 3;

/** Weight of the newest block: about the last ten count. */
const newestShare = 0.1;

export function createBlockTime() {
  let averageMs: number | undefined;
  let last: { readonly height: bigint; readonly timeNs: bigint } | undefined;
  return {
    get averageMs() {
      return Math.min(Math.max(averageMs ?? rpcBlockTimeFirstMs, rpcBlockTimeLeastMs), rpcBlockTimeMostMs);
    },
    note(height: bigint, timeNs: bigint): void {
      const tookMs = last?.height === height - 1n ? Number((timeNs - last.timeNs) / 1_000n) / 1_000 : undefined;
      last = { height, timeNs };
      if (tookMs === undefined) return;
      const bounded = Math.min(Math.max(tookMs, 0), rpcBlockTimeMostMs);
      averageMs = averageMs === undefined ? bounded : averageMs * (1 - newestShare) + bounded * newestShare;
    },
  };
}

/** Reports a wrong local clock: timeout timestamps, tokens and certificates depend on it. One odd block or a halted chain proves nothing. */
export function createClockCheck(clock: Clock, log: Log) {
  let oddInRow = 0;
  let doubt: ProviderError | undefined;
  return {
    /** A block that a node has just reported for the first time. */
    note(timeNs: bigint): void {
      const aheadMs = clock.now() - nsToMs(timeNs);
      const isOdd = Math.abs(aheadMs) > rpcClockSkewMs;
      oddInRow = isOdd ? oddInRow + 1 : 0;
      if (!isOdd && doubt) log.info("local clock agrees with block time again");
      if (!isOdd) doubt = undefined;
      if (oddInRow < rpcClockSkewBlocks) return;
      const error = skewed(aheadMs);
      if (!doubt) log.warn("local clock differs from block time", { error });
      doubt = error;
    },
    /** Set while the clock is doubted. */
    get doubt() {
      return doubt;
    },
  };
}

function skewed(aheadMs: number): ProviderError {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return new ProviderError("AKP_CHAIN_CLOCK_SKEWED", { seconds, direction: aheadMs > 0 ? "ahead of" : "behind" });
}
