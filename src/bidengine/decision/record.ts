/** A decision as the journal and the control socket keep it: plain JSON, the same one again when read back. */
import { z } from "zod";
import type { Json, JsonObject } from "../../bus/topics.ts";
import { parseDecCoin, showDecCoin } from "../../market/coin.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { type RecordedDecision, untils } from "./decision.ts";

const check = z.object({
  name: z.string(),
  verdict: z.enum(["pass", "fail", "not asked"]),
  reason: z.string(),
  evidence: z.custom<JsonObject>(isRecord, "evidence is an object"),
  until: z.enum(untils).optional(),
});

const recorded = z.object({
  verdict: z.enum(["bid", "no"]),
  checks: z.array(check),
  price: z.string().optional(),
});

export function writeDecision({ verdict, checks, price }: RecordedDecision): JsonObject {
  return {
    verdict,
    checks: checks.map(({ until, ...check }): Json => ({ ...check, ...(until && { until }) })),
    ...(price && { price: showDecCoin(price) }),
  };
}

/** Throws where it is none: written by another version, or by nobody. */
export function readDecision(json: unknown): RecordedDecision {
  const { verdict, checks, price } = recorded.parse(json);
  return {
    verdict,
    checks: checks.map(({ until, ...check }) => ({ ...check, ...(until && { until }) })),
    price: price === undefined ? undefined : parseDecCoin(price),
  };
}
