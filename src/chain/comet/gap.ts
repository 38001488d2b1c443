/** Decides when a block is lost: usable nodes fail to return it for too long. Its changes are then read from lists. */
import { largest, smallest } from "../../runtime/bigint.ts";
import type { Clock } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Gap } from "../chain.ts";
import type { Pool } from "./pool.ts";
import { isUsable } from "./rpc-node.ts";

/** A block that all nodes should have and none returns is lost after this time, which covers a node's restart. */
export const rpcGapTimeoutMs = minute;

export function createGapJudge(pool: Pick<Pool, "nodes" | "probe">, clock: Clock) {
  /** Since when usable nodes have failed to return this block, and the last such failure. */
  let waiting: { readonly height: bigint; readonly sinceMs: number; readonly seenMs: number } | undefined;

  function waitFor(height: bigint): number {
    const nowMs = clock.monotonicMs();
    const goesOn = waiting?.height === height && nowMs - waiting.seenMs <= rpcGapTimeoutMs;
    const sinceMs = goesOn && waiting ? waiting.sinceMs : nowMs;
    waiting = { height, sinceMs, seenMs: nowMs };
    return nowMs - sinceMs;
  }

  /** Of consecutive missing blocks only the first waits for the timeout. */
  function give(gap: Gap): Gap {
    if (waiting) waiting = { ...waiting, height: gap.to + 1n };
    return gap;
  }

  return {
    /** The gap beginning at this height, or undefined while it is too early. `has` looks for a block after a rejection. */
    async judge(
      height: bigint,
      failure: ProviderError,
      has: (height: bigint) => Promise<boolean>,
      signal: AbortSignal,
    ): Promise<Gap | undefined> {
      const present = (await pool.probe({ signal })).filter(isUsable);
      // A node that is behind gets the block later; one that is down may have it.
      const able = present.filter((node) => (node.height ?? 0n) >= height);
      if (able.length === 0) {
        waiting = undefined;
        return undefined;
      }
      const isOver = waitFor(height) >= rpcGapTimeoutMs;
      const lowest = smallest(...able.map(({ earliestHeight = 0n }) => earliestHeight));
      const allHere = pool.nodes.every((node) => isUsable(node) || node.condition === "other chain");
      if (lowest > height && (allHere || isOver)) return give({ from: height, to: lowest - 1n });
      if (!isOver) return undefined;
      // They have it and cannot give it in a way that we can read: too large, too slow, or of a shape that we do not know.
      if (!hasRejection(failure)) return give({ from: height, to: height });
      const highest = largest(...able.map((node) => node.height ?? 0n));
      return give({ from: height, to: (await firstPresent(height, highest, has)) - 1n });
    },
  };
}

/** The lowest height present above a missing one, by bisection; where even the newest is missing, the next. */
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

/** Whether at least one node answered with an error. */
export function hasRejection(failure: ProviderError): boolean {
  if (ProviderError.is(failure, "AKP_CHAIN_CALL_REFUSED")) return true;
  const { failures } = failure.details;
  return Array.isArray(failures) && failures.some((each) => ProviderError.is(each, "AKP_CHAIN_CALL_REFUSED"));
}
