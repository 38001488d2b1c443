/** A decision as the journal and the control socket keep it: plain JSON, the same one again when read back. */
import { z } from "zod";
import type { Json, JsonObject } from "../../bus/topics.ts";
import type { Order } from "../../chain/records.ts";
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

/** Throws where it is not a decision of this version. */
export function readDecision(json: unknown): RecordedDecision {
  const { verdict, checks, price } = recorded.parse(json);
  return {
    verdict,
    checks: checks.map(({ until, ...check }) => ({ ...check, ...(until && { until }) })),
    price: price === undefined ? undefined : parseDecCoin(price),
  };
}

/** Longest group as JSON that the journal keeps: a usual one has a few hundred characters. */
const orderSpecChars = 16_384;
/** All waiting orders are decided on again this often; a price script is not run sooner for the same order. */
export const orderRecheckMs = 10 * minute;

/** Within a unit of work. */
export function recordDecision(tables: Tables, order: Order, decision: Decision): void {
  const { verdict, checks, price } = writeDecision(decision);
  const inputs: DecisionInputs = typeof price === "string" ? { price } : {};
  tables.orders.see(seenOrder(order));
  tables.decisions.record({ orderId: formatOrderId(order.id), outcome: `${verdict}`, checks, inputs });
}

/** Another verdict of any check is news; other reasons alone only after `orderRecheckMs`. */
export function isNews(read: Pick<TableReads, "decisions">, key: string, decision: Decision, nowMs: number): boolean {
  const [last] = read.decisions.about(key, 1);
  if (!last || last.outcome !== decision.verdict) return true;
  const before = last.checks as readonly Check[];
  const differs = (show: (check: Check) => string) => before.map(show).join() !== decision.checks.map(show).join();
  if (differs(({ name, verdict }) => `${name} ${verdict}`)) return true;
  const isOld = nowMs - last.atMs >= orderRecheckMs;
  return isOld && differs(({ verdict, reason }) => (verdict === "fail" ? reason : ""));
}

function seenOrder({ id, spec, createdAt }: Order): NewOrder {
  const json = groupToJson(spec);
  const tooLong = JSON.stringify(json).length > orderSpecChars;
  return { orderId: formatOrderId(id), spec: tooLong ? null : json, most: mostOf(spec), createdAt };
}

/** A tenant may write any number; a sum that the chain could not hold is left out. */
function mostOf(spec: Order["spec"]): string {
  try {
    return showDecCoin(mostFor(spec));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return "";
    throw thrown;
  }
}
