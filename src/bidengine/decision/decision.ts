/** A decision on an order: the result of every check. `why`, `screen` and the journal show the same one. */
import type { JsonObject } from "../../bus/topics.ts";
import { type DecCoin, showDecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { Judgement } from "../policies/judgement.ts";
import type { GatheredInputs } from "./inputs.ts";

export interface Decision extends RecordedDecision {
  /** Undefined if the group does not fit. Not recorded: the bid's message and the reservation hold it. */
  readonly offer: Fits["offer"] | undefined;
  /** The placement search reached its step limit. */
  readonly isLimited?: boolean;
}

/** The part in the journal. */
export interface RecordedDecision {
  readonly verdict: "bid" | "no";
  readonly checks: readonly Check[];
  /** Of a bid, and of a rejection because of the price. */
  readonly price: DecCoin | undefined;
}

export interface Check extends CheckVerdict {
  readonly name: string;
}

export interface CheckVerdict {
  readonly verdict: "pass" | "fail" | "not asked";
  /** One sentence, also of a pass. */
  readonly reason: string;
  readonly evidence: JsonObject;
  /** Of a failed check: what must change before the result can differ. */
  readonly until?: Until;
}

/** "time": recheck periodically. "never": not with the same settings. */
export const untils = ["room", "prices", "attributes", "wallet", "policies", "time", "never"] as const;
export type Until = (typeof untils)[number];

/** All of these must change before a rejected order can get a bid. Empty if it never can. */
export function waitsFor(decision: RecordedDecision): ReadonlySet<Until> {
  const untils = new Set(failedChecks(decision).flatMap(({ until }) => until ?? []));
  return untils.has("never") ? new Set() : untils;
}

export function failedChecks({ checks }: RecordedDecision): readonly Check[] {
  return checks.filter(({ verdict }) => verdict === "fail");
}

/** Pure and fast. */
export type BidCheck = (gathered: GatheredInputs) => CheckVerdict;

export function pass(reason: string, evidence: JsonObject = {}): CheckVerdict {
  return { verdict: "pass", reason, evidence };
}

export function fail(until: Until, reason: string, evidence: JsonObject = {}): CheckVerdict {
  return { verdict: "fail", reason, evidence, until };
}

export function skipped(reason: string): CheckVerdict {
  return { verdict: "not asked", reason, evidence: {} };
}

/** A policy in dry run passes, with its verdict as evidence. */
export function byPolicy({ yes, reason, dryRun, evidence = {} }: Judgement): CheckVerdict {
  if (yes) return pass(reason, evidence);
  if (dryRun) return pass(`dry run, it would be a no: ${reason}`, { ...evidence, dryRun });
  return fail("policies", reason, evidence);
}

const signs: Readonly<Record<Check["verdict"], string>> = { pass: "✓", fail: "✗", "not asked": "–" };

/** One line. */
export function summary(decision: RecordedDecision): string {
  const price = decision.price ? ` at ${showDecCoin(decision.price)} per block` : "";
  if (decision.verdict === "bid") return `bid${price}`;
  const [first, ...others] = failedChecks(decision);
  const more = others.length > 0 ? `, and ${others.length} more` : "";
  return first ? `no: ${first.reason} (${first.name}${more})` : "no";
}

/** The summary and one line for each check: ✓ it passed, ✗ it failed, – it did not run. */
export function explain(decision: RecordedDecision): string[] {
  const width = Math.max(0, ...decision.checks.map(({ name }) => name.length));
  const lines = decision.checks.map(
    ({ name, verdict, reason }) => `${signs[verdict]} ${name.padEnd(width)}  ${reason}`,
  );
  return [summary(decision), ...lines];
}
