/** Decides when blocks are lost for good: not because a node failed, only because all of them say they lack them. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Pool } from "./pool.ts";

export interface Gap {
  readonly from: bigint;
  readonly to: bigint;
}

export interface GapJudge {
  /**
   * The gap that begins at this height, or undefined when it is too early to give up. `has` asks the nodes whether any
   * of them has a block.
   */
  judge(
    height: bigint,
    failure: ProviderError,
    has: (height: bigint) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Gap | undefined>;
}

export function createGapJudge(pool: Pick<Pool, "members" | "probe">, clock: Clock): GapJudge {
  let refused: { readonly height: bigint; readonly sinceMs: number } | undefined;

  return {
    async judge(height, failure, has, signal) {
      if (!hasRefusal(failure)) return undefined;
      if (refused?.height !== height) refused = { height, sinceMs: clock.monotonicMs() };
      await pool.probe({ signal });
      const present = pool.members.filter(({ condition }) => ["good", "failing"].includes(condition));
      // A node that is behind will have the block; one that is down may.
      const able = present.filter((member) => (member.height ?? 0n) >= height);
      if (able.length === 0) return undefined;
      const lowest = able.map(({ earliestHeight = 0n }) => earliestHeight).reduce((a, b) => (a < b ? a : b));
      const isOver = clock.monotonicMs() - refused.sinceMs >= limits.rpcGapPatienceMs;
      const allHere = pool.members.every(({ condition }) => ["good", "failing", "other chain"].includes(condition));
      if (lowest > height && (allHere || isOver)) return { from: height, to: lowest - 1n };
      if (!isOver) return undefined;
      const highest = able.map((member) => member.height ?? 0n).reduce((a, b) => (a > b ? a : b));
      return { from: height, to: (await firstPresent(height, highest, has)) - 1n };
    },
  };
}

/**
 * The lowest height above a missing one that is there. Nodes that throw results away keep the newest, so it is found by
 * halving; where not even the newest is there, only the first is given up.
 */
async function firstPresent(
  missing: bigint,
  highest: bigint,
  has: (height: bigint) => Promise<boolean>,
): Promise<bigint> {
  if (highest <= missing || !(await has(highest))) return missing + 1n;
  let [absent, present] = [missing, highest];
  while (present - absent > 1n) {
    const middle = (absent + present) / 2n;
    if (await has(middle)) present = middle;
    else absent = middle;
  }
  return present;
}

/** Whether at least one node answered and said no. */
export function hasRefusal(failure: ProviderError): boolean {
  if (ProviderError.is(failure, "AKP_CHAIN_CALL_REFUSED")) return true;
  const { failures } = failure.details;
  return Array.isArray(failures) && failures.some((each) => ProviderError.is(each, "AKP_CHAIN_CALL_REFUSED"));
}
