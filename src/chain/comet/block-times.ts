/** What the times of blocks tell: how long a block takes on this chain, and whether the local clock is right. */
import { type Clock, nsToMs } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";

interface BlockTime {
  readonly averageMs: number;
  note(height: bigint, timeNs: bigint): void;
}

/** Weight of the newest block: about the last ten count. */
const newestShare = 0.1;

export function createBlockTime(): BlockTime {
  let averageMs: number | undefined;
  let last: { readonly height: bigint; readonly timeNs: bigint } | undefined;
  return {
    get averageMs() {
      const { rpcBlockTimeLeastMs: least, rpcBlockTimeMostMs: most, rpcBlockTimeFirstMs: first } = limits;
      return Math.min(Math.max(averageMs ?? first, least), most);
    },
    note(height, timeNs) {
      const tookMs = last?.height === height - 1n ? Number((timeNs - last.timeNs) / 1_000n) / 1_000 : undefined;
      last = { height, timeNs };
      if (tookMs === undefined) return;
      const bounded = Math.min(Math.max(tookMs, 0), limits.rpcBlockTimeMostMs);
      averageMs = averageMs === undefined ? bounded : averageMs * (1 - newestShare) + bounded * newestShare;
    },
  };
}

interface ClockCheck {
  /** A block that a node has just told of for the first time. */
  note(timeNs: bigint): void;
  /** Set while the clock is doubted. */
  readonly doubt: ProviderError | undefined;
}

/**
 * Stamps, tokens and certificates go wrong with the local clock, and nothing else would say so. One odd block proves nothing,
 * and neither does a chain that stands still.
 */
export function createClockCheck(clock: Clock, log: Log): ClockCheck {
  let oddInRow = 0;
  let doubt: ProviderError | undefined;
  return {
    note(timeNs) {
      const aheadMs = clock.now() - nsToMs(timeNs);
      const isOdd = Math.abs(aheadMs) > limits.rpcClockSkewMs;
      oddInRow = isOdd ? oddInRow + 1 : 0;
      if (!isOdd && doubt) log.info("local clock agrees with block time again");
      if (!isOdd) doubt = undefined;
      if (oddInRow < limits.rpcClockSkewBlocks) return;
      const error = skewed(aheadMs);
      if (!doubt) log.warn("local clock differs from block time", { error });
      doubt = error;
    },
    get doubt() {
      return doubt;
    },
  };
}

function skewed(aheadMs: number): ProviderError {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return new ProviderError("AKP_CHAIN_CLOCK_SKEWED", { seconds, direction: aheadMs > 0 ? "ahead of" : "behind" });
}
