/** Orders and what was decided on them, in words for a terminal. */

import type { JsonOf } from "../bidengine/control-handlers.ts";
import {
  type Check,
  explain,
  failedChecks,
  type RecordedDecision,
  summary,
  type Until,
} from "../bidengine/decision/decision.ts";
import { readDecision } from "../bidengine/decision/record.ts";
import type { OrderLine, OrderReport } from "../bidengine/order-report.ts";
import { type GroupJson, groupFromJson } from "../market/group-json.ts";
import { groupSummary } from "../market/group-spec.ts";
import { formatTime } from "../runtime/clock.ts";

/** The id is never cut: it is what `why` is given. */
const columns = { order: 62, age: 4, verdict: 8, price: 16 };

export function orderHeading(): string {
  return rowOf("ORDER", "AGE", "VERDICT", "PRICE", "OUTCOME");
}

export function orderRow(order: JsonOf<OrderLine>, nowMs: number): string {
  const { orderId, seenAtMs, verdict = "…", price = "" } = order;
  return rowOf(orderId, showAge(nowMs - seenAtMs), verdict, price, outcomeText(order));
}

function rowOf(order: string, age: string, verdict: string, price: string, outcome: string): string {
  const { order: first, age: second, verdict: third, price: fourth } = columns;
  const cells = [order.padEnd(first), age.padStart(second), verdict.padEnd(third), price.padEnd(fourth), outcome];
  return cells.join("  ").trimEnd();
}

function outcomeText({ verdict, outcome, reason, end }: JsonOf<OrderLine>): string {
  const ours = verdict === undefined ? "not decided yet" : (outcome ?? reason ?? "");
  const winner = end?.winner !== undefined && outcome !== "won" ? `leased at ${end.price} by ${end.winner}` : "";
  const over = end && !winner && outcome === undefined ? "the order is over" : "";
  return [ours, winner, over].filter(Boolean).join("; ");
}

/** All that is known of one order. Times are absolute: the answer of today is the answer of tomorrow. */
export function whyLines(order: JsonOf<OrderReport>, options: { readonly evidence: boolean }): string[] {
  const [latest, ...earlier] = order.decisions;
  const decision = latest && readDecision(latest);
  return [
    order.orderId,
    ...indent([
      `seen ${formatTime(order.seenAtMs)}, made in block ${order.createdAt}`,
      // One that was too long to be kept is one that no one could have meant.
      `asks for ${order.spec === null ? "more than is kept" : groupSummary(groupFromJson(order.spec as GroupJson))}`,
      `pays at most ${order.most || "more than any coin"} per block`,
      ...(latest && decision
        ? [`decided ${formatTime(latest.atMs)}`, ...decisionLines(decision, options)]
        : ["not decided on yet"]),
      ...earlier.map((each) => `before, ${formatTime(each.atMs)}: ${summary(readDecision(each))}`),
      ...order.sent.flatMap(sentLines),
      ...endLines(order),
      ...(decision?.verdict === "no" ? changeLines(decision, order.end !== undefined) : []),
    ]),
  ];
}

/** The summary, each check, and the evidence of those that failed, or of all. */
export function decisionLines(decision: RecordedDecision, { evidence }: { readonly evidence: boolean }): string[] {
  const [said = "", ...checks] = explain(decision);
  const below = (check: Check) => (evidence || check.verdict === "fail" ? evidenceLines(check) : []);
  const lines = checks.flatMap((line, at) => {
    const check = decision.checks[at];
    return [line, ...(check ? indent(indent(below(check))) : [])];
  });
  return [said, ...indent(lines)];
}

function evidenceLines({ evidence }: Check): string[] {
  return Object.entries(evidence)
    .filter(([, value]) => !Array.isArray(value) || value.length > 0)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
}

function sentLines({ what, state, filedAtMs, settledAtMs, txHash, log, why }: JsonOf<OrderReport>["sent"][number]) {
  const settled = settledAtMs === undefined ? "" : ` at ${formatTime(settledAtMs)}`;
  return [
    `${what} filed ${formatTime(filedAtMs)} (${why}): ${state}${settled}${txHash === undefined ? "" : `, tx ${txHash}`}`,
    ...(log ? indent([log]) : []),
  ];
}

function endLines({ outcome, end, price, verdict, seenAtMs }: JsonOf<OrderReport>): string[] {
  const ours = verdict === "bid" && outcome !== undefined ? [`our bid${price ? ` of ${price}` : ""}: ${outcome}`] : [];
  if (!end) return ours;
  const open = `after ${showAge(end.atMs - seenAtMs)}`;
  const where = end.height === undefined ? "" : `, in block ${end.height}`;
  const how = {
    leased: `leased ${open}${where} by ${end.winner ?? "somebody"} at ${end.price ?? "a price that is not known"} per block`,
    closed: `closed ${open}${where}; nobody got a lease`,
    unknown: "over; how it ended was not seen",
  }[end.how];
  return [...ours, `the order: ${how}`];
}

const changes: Readonly<Record<Until, string>> = {
  room: "insufficient capacity (see the failed check); re-evaluated automatically",
  prices: "your prices must be lower, or the token price that they are reckoned with must be there",
  attributes:
    "the chain must have it of us (and we must have read it): correct provider.yaml and give `akash-provider register`, or have it audited",
  wallet: "the provider's account must have money for the deposit and the fee",
  policies: "your policies must allow it, or `akash-provider resume`",
  time: "nothing by hand: it passes by itself",
  never: "nothing of ours: the order asks for what is not to be had here",
};

/** What would have to change for a bid. */
export function changeLines(decision: RecordedDecision, isOver: boolean): string[] {
  const untils = new Set(failedChecks(decision).flatMap(({ until }) => until ?? []));
  if (untils.size === 0) return [];
  return [
    isOver ? "to bid on the next one like it:" : "to bid on it:",
    ...indent([...untils].map((until) => changes[until])),
  ];
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

const steps = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** "3m": the largest unit is enough. */
export function showAge(ms: number): string {
  const [unit, size] = steps.find(([, each]) => ms >= each) ?? ["s", 1_000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}
