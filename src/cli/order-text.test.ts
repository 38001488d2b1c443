import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { OrderReport } from "../bidengine/order-report.ts";
import { orderRow, showAge, whyLines } from "./order-text.ts";

const orderId = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/1/1/1";
const check = { name: "bidsLeft", verdict: "fail", reason: "others were faster", evidence: { bids: 20 } } as const;

function answer(change: Partial<JsonOf<OrderReport>> = {}): JsonOf<OrderReport> {
  const told = { orderId, seenAtMs: 0, createdAt: "7", most: "5uact", decisions: [], sent: [], spec: null, ...change };
  return told as unknown as JsonOf<OrderReport>;
}

const text = (change: Partial<JsonOf<OrderReport>>, evidence = false) =>
  whyLines(answer(change), { evidence }).join("\n");

test("an order that is not decided on yet says so", () => {
  assert.match(text({}), /not decided on yet/);
  assert.match(orderRow(answer(), 90_000), /1m {2}… .*not decided yet$/);
});

test("the last decision is told in full and those before it in a line", () => {
  const decision = { atMs: 1_000, verdict: "no", checks: [{ ...check, until: "never" }], price: undefined } as const;
  const before = { ...decision, atMs: 500, checks: [{ ...check, reason: "no room", name: "placementExists" }] };
  const said = text({ verdict: "no", decisions: [decision, before] });
  assert.match(
    said,
    /✗ bidsLeft {2}others were faster\n {8}bids: 20\n {2}before, 1970-01-01T00:00:00\.500Z: no: no room/,
  );
  assert.match(said, /to bid on it:\n {4}nothing of ours/);
  const over = text({ verdict: "no", decisions: [decision], end: { how: "closed", atMs: 60_000 } });
  assert.match(over, /closed after 1m; nobody got a lease\n {2}to bid on the next one like it:/);
});

test("evidence of what passed is told only where it is asked for", () => {
  const decisions = [{ atMs: 0, verdict: "bid", checks: [{ ...check, verdict: "pass" }], price: "3uact" }] as const;
  assert.doesNotMatch(text({ verdict: "bid", decisions }), /bids: 20/);
  assert.match(text({ verdict: "bid", decisions }, true), /bid at 3uact per block\n {4}✓ bidsLeft .*\n {8}bids: 20/);
});

test("what the chain rejected is told with its words, and an end that nobody saw as such", () => {
  const sent = [
    { what: "createBid", why: "an order", state: "failed", filedAtMs: 0, settledAtMs: 1, log: "no deposit" },
  ];
  const said = text({
    verdict: "bid",
    price: "3uact",
    outcome: "failed",
    sent: sent as never,
    end: { how: "unknown", atMs: 9 },
  });
  assert.match(said, /createBid filed .* \(an order\): failed at .*\n {4}no deposit\n {2}our bid of 3uact: failed/);
  assert.match(said, /the order: over; how it ended was not seen/);
});

test("who won and at which price stands in the row of a bid that was lost", () => {
  const end = { how: "leased", winner: "akash1rival", price: "2uact", atMs: 5 } as const;
  const row = orderRow(answer({ verdict: "bid", price: "3uact", outcome: "lost", end }), 0);
  assert.match(row, /0s {2}bid +3uact +lost; leased at 2uact by akash1rival$/);
});

test("an age is told by its largest unit, and a clock that was set back makes none below zero", () => {
  assert.deepEqual([0, 59_999, 60_000, 7_200_000, 172_800_000, -5].map(showAge), ["0s", "59s", "1m", "2h", "2d", "0s"]);
});
