/** What the journal knows of orders, for commands and views. Works without a running provider. */
import type { DecisionRow } from "../journal/decisions.ts";
import type { Intent } from "../journal/intents.ts";
import type { SeenOrder } from "../journal/orders.ts";
import type { TableReads } from "../journal/tables.ts";
import type { Check } from "./decision/decision.ts";

/** Orders reported of one deployment: a group of it is ordered again whenever a lease of it ends. */
const ordersReported = 50;
/** Decisions reported of one order: only those that differ are recorded. */
const decisionsReported = 20;

type Reads = Pick<TableReads, "orders" | "decisions" | "intents">;

export type OrderLine = ReturnType<typeof lineOf>;
export type OrderReport = ReturnType<typeof readOrderReports>[number];

export function readOrders(read: Reads, limit: number): OrderLine[] {
  return read.orders.recent(limit).map((order) => lineOf(read, order));
}

export function readOrderLine(read: Reads, orderId: string): OrderLine | undefined {
  const order = read.orders.get(orderId);
  return order && lineOf(read, order);
}

/** "owner/dseq/gseq/oseq" is one order, "owner/dseq" all of a deployment. */
export function readOrderReports(read: Reads, id: string) {
  const one = read.orders.get(id);
  const found = one ? [one] : read.orders.ofDeployment(id, ordersReported);
  return found.map((order) => ({
    ...lineOf(read, order),
    /** The newest first. */
    decisions: read.decisions.about(order.orderId, decisionsReported).map(decisionOf),
    /** What was sent to the chain about it, the oldest first. */
    sent: read.intents.about(order.orderId).map(sentOf).reverse(),
    spec: order.spec,
  }));
}

function lineOf(read: Reads, order: SeenOrder) {
  const { orderId, seenAtMs, createdAt, most, ourPrice, end } = order;
  const [last] = read.decisions.about(orderId, 1).map(decisionOf);
  const failed = last?.verdict === "no" ? last.checks.find(({ verdict }) => verdict === "fail") : undefined;
  return {
    ...{ orderId, seenAtMs, createdAt, end },
    /** The most that it pays per block: "12.5uact". */
    most,
    /** Undefined until it was decided on. */
    verdict: ourPrice === undefined ? last?.verdict : ("bid" as const),
    reason: failed && `${failed.name}: ${failed.reason}`,
    price: ourPrice ?? last?.price,
    /** What became of our bid: "bid under way", "bid", "won", "lost", "closed", "timed out", "failed" … */
    outcome: outcomeOf(read, order),
  };
}

/** Until the outcome is known, the intent says how far the bid is. */
function outcomeOf(read: Reads, { orderId, ourPrice, outcome }: SeenOrder): string | undefined {
  if (outcome !== undefined || ourPrice === undefined) return outcome;
  const bid = read.intents.about(orderId).find(({ what }) => what === "createBid");
  return bid?.state === "done" ? "bid" : "bid under way";
}

/** Stored with a decision, beside its checks. */
export interface DecisionInputs {
  readonly price?: string;
}

function decisionOf({ atMs, outcome, checks, inputs }: DecisionRow) {
  const { price } = inputs as DecisionInputs;
  return { atMs, verdict: outcome === "bid" ? ("bid" as const) : ("no" as const), checks: checks as Check[], price };
}

function sentOf({ what, why, state, filedAtMs, settledAtMs, txHash, result }: Intent) {
  const { log, txHash: landed } = (result ?? {}) as { readonly log?: string; readonly txHash?: string };
  return { what, why, state, filedAtMs, settledAtMs, txHash: txHash ?? landed, log };
}
