/**
 * Whether the local clock is right, seen against the times of new blocks: stamps, tokens and certificates go wrong with it,
 * and nothing else would say so. One odd block proves nothing, and neither does a chain that stands still.
 */
import { type Clock, nsToMs } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";

export interface ClockCheck {
  /** A block that a node has just told of for the first time. */
  note(timeNs: bigint): void;
  /** Set while the clock is doubted. */
  readonly doubt: ProviderError | undefined;
}

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
      if (!doubt) log.error("local clock differs from block time", { error });
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
