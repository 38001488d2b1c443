/** What a check comes to. */
import type { JsonObject } from "../../bus/topics.ts";
import type { Judgement } from "../policies/judgement.ts";
import type { Until } from "./decision.ts";
import type { Gathered } from "./inputs.ts";

export interface Verdict {
  readonly verdict: "pass" | "fail" | "not asked";
  readonly reason: string;
  readonly evidence: JsonObject;
  readonly until?: Until;
}

/** One question about what was gathered. Asks nobody, changes nothing, and never takes long. */
export type Question = (gathered: Gathered) => Verdict;

export function pass(reason: string, evidence: JsonObject = {}): Verdict {
  return { verdict: "pass", reason, evidence };
}

/** `until` says what must change before it is worth asking again. */
export function fail(until: Until, reason: string, evidence: JsonObject = {}): Verdict {
  return { verdict: "fail", reason, evidence, until };
}

export function notAsked(reason: string): Verdict {
  return { verdict: "not asked", reason, evidence: {} };
}

/** A policy on trial passes whatever it says, and says what it would have done. */
export function byPolicy({ yes, reason, dryRun, evidence = {} }: Judgement): Verdict {
  if (yes) return pass(reason, evidence);
  if (dryRun) return pass(`dry run, it would be a no: ${reason}`, { ...evidence, dryRun });
  return fail("policies", reason, evidence);
}
