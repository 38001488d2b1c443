/** A decision on an order: every check by name, with what it saw. `why`, `screen` and the journal show the same one. */
import type { JsonObject } from "../../bus/topics.ts";
import { type DecCoin, showDecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { Judgement } from "../policies/judgement.ts";
import type { GatheredInputs } from "./inputs.ts";

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

export function refusals({ checks }: RecordedDecision): readonly Check[] {
  return checks.filter(({ verdict }) => verdict === "fail");
}

// What a check comes to.

export interface CheckVerdict {
  readonly verdict: "pass" | "fail" | "not asked";
  readonly reason: string;
  readonly evidence: JsonObject;
  readonly until?: Until;
}

/** One question about what was gathered. Asks nobody, changes nothing, and never takes long. */
export type BidQuestion = (gathered: GatheredInputs) => CheckVerdict;

export function pass(reason: string, evidence: JsonObject = {}): CheckVerdict {
  return { verdict: "pass", reason, evidence };
}

/** `until` says what must change before it is worth asking again. */
export function fail(until: Until, reason: string, evidence: JsonObject = {}): CheckVerdict {
  return { verdict: "fail", reason, evidence, until };
}

export function notAsked(reason: string): CheckVerdict {
  return { verdict: "not asked", reason, evidence: {} };
}

/** A policy on trial passes whatever it says, and says what it would have done. */
export function byPolicy({ yes, reason, dryRun, evidence = {} }: Judgement): CheckVerdict {
  if (yes) return pass(reason, evidence);
  if (dryRun) return pass(`dry run, it would be a no: ${reason}`, { ...evidence, dryRun });
  return fail("policies", reason, evidence);
}

// A decision in words, for `why`, `screen` and the view.

const signs: Readonly<Record<Check["verdict"], string>> = { pass: "✓", fail: "✗", "not asked": "–" };

/** One line: what came of it. */
export function summary(decision: RecordedDecision): string {
  const price = decision.price ? ` at ${showDecCoin(decision.price)} per block` : "";
  if (decision.verdict === "bid") return `bid${price}`;
  const [first, ...others] = refusals(decision);
  const more = others.length > 0 ? `, and ${others.length} more` : "";
  return first ? `no: ${first.reason} (${first.name}${more})` : "no";
}

/** The summary and one line for each check: ✓ it passed, ✗ it failed, – it was not asked. */
export function explain(decision: RecordedDecision): string[] {
  const width = Math.max(0, ...decision.checks.map(({ name }) => name.length));
  const lines = decision.checks.map(
    ({ name, verdict, reason }) => `${signs[verdict]} ${name.padEnd(width)}  ${reason}`,
  );
  return [summary(decision), ...lines];
}
