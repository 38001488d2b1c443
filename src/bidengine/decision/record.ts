/** A decision as the journal and the control socket keep it: plain JSON, the same one again when read back. */
import { z } from "zod";
import type { Json, JsonObject } from "../../bus/topics.ts";
import type { Order } from "../../chain/records.ts";
import type { DecisionRow } from "../../journal/decisions.ts";
import type { NewOrder } from "../../journal/orders.ts";
import type { TableReads, Tables } from "../../journal/tables.ts";
import { parseDecCoin, showDecCoin } from "../../market/coin.ts";
import { groupToJson } from "../../market/group-json.ts";
import { mostFor } from "../../market/group-totals.ts";
import { formatOrderId } from "../../market/ids.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import type { DecisionInputs } from "../order-report.ts";
import { type Check, type Decision, type RecordedDecision, untils } from "./decision.ts";

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

// Which decisions are written down: those that say something else than the last one on the order.

/** Of a group as JSON: a usual one has a few hundred characters, and what is longer than this nobody means. */
const orderSpecChars = 16_384;
/** And all of them this often, changed or not; a price script is not asked sooner about the same order. */
export const orderRecheckMs = 10 * minute;

/** Within a unit of work. */
export function recordDecision(tables: Tables, order: Order, decision: Decision): void {
  const { verdict, checks, price } = writeDecision(decision);
  const inputs: DecisionInputs = typeof price === "string" ? { price } : {};
  tables.orders.see(seenOrder(order));
  tables.decisions.record({ orderId: formatOrderId(order.id), outcome: `${verdict}`, checks, inputs });
}

/** Same checks with the same verdicts are the same decision; changed words alone count only after `orderRecheckMs`. */
export function isNews(read: Pick<TableReads, "decisions">, key: string, decision: Decision, nowMs: number): boolean {
  const [last] = read.decisions.about(key, 1);
  if (!last || last.outcome !== decision.verdict) return true;
  const before = last.checks as readonly Check[];
  if (answersOf(before) !== answersOf(decision.checks)) return true;
  return nowMs - last.atMs >= orderRecheckMs && wordsOf(last) !== wordsOf(decision);
}

function answersOf(checks: readonly Check[]): string {
  return checks.map(({ name, verdict }) => `${name} ${verdict}`).join();
}

function wordsOf({ checks }: DecisionRow | Decision): string {
  return (checks as readonly Check[]).map(({ verdict, reason }) => (verdict === "fail" ? reason : "")).join();
}

function seenOrder({ id, spec, createdAt }: Order): NewOrder {
  const json = groupToJson(spec);
  const tooLong = JSON.stringify(json).length > orderSpecChars;
  return { orderId: formatOrderId(id), spec: tooLong ? null : json, most: mostOf(spec), createdAt };
}

/** A tenant may write any number; a sum that the chain itself could not hold is none. */
function mostOf(spec: Order["spec"]): string {
  try {
    return showDecCoin(mostFor(spec));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return "";
    throw thrown;
  }
}
