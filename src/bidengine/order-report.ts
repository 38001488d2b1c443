/** What the journal knows of orders, in the words of a person who asks. Needs no running provider: reads are all it takes. */
import type { DecisionRow } from "../journal/decisions.ts";
import type { Intent } from "../journal/intents.ts";
import type { OrderEnd, SeenOrder } from "../journal/orders.ts";
import type { TableReads } from "../journal/tables.ts";
import type { Check } from "./decision/decision.ts";

/** Orders of one deployment that are told of: a group of it is ordered again whenever a lease of it ends. */
const ordersTold = 50;
/** Decisions on one order that are told: they are recorded when they differ, and the last few say it all. */
const decisionsTold = 20;

type Reads = Pick<TableReads, "orders" | "decisions" | "intents">;

export interface OrderLine {
  readonly orderId: string;
  readonly seenAtMs: number;
  readonly createdAt: bigint;
  /** The most that it pays per block: "12.5uact". */
  readonly most: string;
  /** Undefined until it was decided on. */
  readonly verdict: "bid" | "no" | undefined;
  readonly reason: string | undefined;
  readonly price: string | undefined;
  /** What became of our bid: "bid under way", "bid", "won", "lost", "closed", "timed out", "failed" … */
  readonly outcome: string | undefined;
  readonly end: OrderEnd | undefined;
}

export interface OrderReport extends OrderLine {
  /** What was decided, the newest first. */
  readonly decisions: readonly DecisionAnswer[];
  /** What was sent to the chain about it, the oldest first. */
  readonly sent: readonly SentAnswer[];
  readonly spec: unknown;
}

interface DecisionAnswer {
  readonly atMs: number;
  readonly verdict: "bid" | "no";
  readonly checks: readonly Check[];
  readonly price: string | undefined;
}

interface SentAnswer {
  readonly what: string;
  readonly why: string;
  readonly state: Intent["state"];
  readonly filedAtMs: number;
  readonly settledAtMs: number | undefined;
  readonly txHash: string | undefined;
  readonly log: string | undefined;
}

export function readOrders(read: Reads, limit: number): OrderLine[] {
  return read.orders.recent(limit).map((order) => lineOf(read, order));
}

export function readOrderLine(read: Reads, orderId: string): OrderLine | undefined {
  const order = read.orders.get(orderId);
  return order && lineOf(read, order);
}

/** "owner/dseq/gseq/oseq" is one order, "owner/dseq" all of a deployment. */
export function readOrderReports(read: Reads, id: string): OrderReport[] {
  const one = read.orders.get(id);
  const found = one ? [one] : read.orders.ofDeployment(id, ordersTold);
  return found.map((order) => ({
    ...lineOf(read, order),
    decisions: read.decisions.about(order.orderId, decisionsTold).map(decisionOf),
    sent: read.intents.about(order.orderId).map(sentOf).reverse(),
    spec: order.spec,
  }));
}

function lineOf(read: Reads, order: SeenOrder): OrderLine {
  const [last] = read.decisions.about(order.orderId, 1).map(decisionOf);
  const failed = last?.verdict === "no" ? last.checks.find(({ verdict }) => verdict === "fail") : undefined;
  return {
    orderId: order.orderId,
    seenAtMs: order.seenAtMs,
    createdAt: order.createdAt,
    most: order.most,
    verdict: order.ourPrice === undefined ? last?.verdict : "bid",
    reason: failed && `${failed.name}: ${failed.reason}`,
    price: order.ourPrice ?? last?.price,
    outcome: outcomeOf(read, order),
    end: order.end,
  };
}

/** Between the decision and its end, the intent says how far it is. */
function outcomeOf(read: Reads, { orderId, ourPrice, outcome }: SeenOrder): string | undefined {
  if (outcome !== undefined || ourPrice === undefined) return outcome;
  const bid = read.intents.about(orderId).find(({ what }) => what === "createBid");
  return bid?.state === "done" ? "bid" : "bid under way";
}

/** What the bid engine keeps with a decision beside its checks. */
export interface DecisionInputs {
  readonly price?: string;
}

function decisionOf({ atMs, outcome, checks, inputs }: DecisionRow): DecisionAnswer {
  const { price } = inputs as DecisionInputs;
  return { atMs, verdict: outcome === "bid" ? "bid" : "no", checks: checks as readonly Check[], price };
}

function sentOf({ what, why, state, filedAtMs, settledAtMs, txHash, result }: Intent): SentAnswer {
  const { log, txHash: landed } = (result ?? {}) as { readonly log?: string; readonly txHash?: string };
  return { what, why, state, filedAtMs, settledAtMs, txHash: txHash ?? landed, log };
}
