/** A decision on an order: every check by name, with what it saw. `why`, `screen` and the journal show the same one. */
import type { JsonObject } from "../../bus/topics.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";

export interface Decision extends RecordedDecision {
  /** What would be offered, where it fits. Not kept: whoever bids has it in the message, and whoever holds the capacity too. */
  readonly offer: Fits["offer"] | undefined;
  /** The search for a placement used up its steps. */
  readonly isLimited?: boolean;
}

/** As much of it as the journal keeps. */
export interface RecordedDecision {
  readonly verdict: "bid" | "no";
  readonly checks: readonly Check[];
  /** Of a bid, and of a no that comes only from what it would cost. */
  readonly price: DecCoin | undefined;
}

export interface Check {
  readonly name: string;
  readonly verdict: "pass" | "fail" | "not asked";
  /** One sentence, also of a pass. */
  readonly reason: string;
  readonly evidence: JsonObject;
  /** Of a fail, what would have to change first. */
  readonly until?: Until;
}

/** "time": by itself, so look again after a while. "never": not as long as we run as we do. */
export const untils = ["room", "prices", "attributes", "wallet", "policies", "time", "never"] as const;
export type Until = (typeof untils)[number];

/** What a no waits for: it can become a bid only when all of these have changed. Empty where it never can. */
export function waitsFor(decision: RecordedDecision): ReadonlySet<Until> {
  const untils = new Set(refusals(decision).flatMap(({ until }) => until ?? []));
  return untils.has("never") ? new Set() : untils;
}

/** The checks that said no. */
export function refusals({ checks }: RecordedDecision): readonly Check[] {
  return checks.filter(({ verdict }) => verdict === "fail");
}
