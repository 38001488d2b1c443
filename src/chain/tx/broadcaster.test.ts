import assert from "node:assert/strict";
import { test } from "node:test";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { causeOf, fateOf } from "./broadcaster.ts";

const logs: readonly [string, string][] = [
  ["failed to execute message; message index: 3: order closed: bid not open", "message"],
  // A wallet can be filled, whatever the money was for.
  [
    "failed to execute message; message index: 0: spendable balance 5uakt is smaller than 9uakt: insufficient funds",
    "funds",
  ],
  ["failed to execute message; message index: 21: deposit invalid: insufficient balance", "funds"],
  ["failed to execute message; message index: 1: recovered: couldn't find payment a/1/b: panic", "not now"],
  ["recovered: couldn't find payment a/1/b\nstack:\ngoroutine 1 [running]: panic with gas used: '7'", "not now"],
  ["failed to execute message; message index: 2: reclamation window has not elapsed", "not now"],
  ["spendable balance 5uakt is smaller than 5000uakt: insufficient funds: insufficient funds", "funds"],
  ["fee-grant not found: not found", "funds"],
  ["akash1a does not allow to pay fees for akash1b: basic allowance: fee limit exceeded", "funds"],
  ["akash1a does not allow to pay fees for akash1b: period limit: fee limit exceeded", "funds"],
  ["akash1a does not allow to pay fees for akash1b: message not allowed", "unexplained"],
  ["account sequence mismatch, expected 1, got 6: incorrect account sequence", "stale"],
  ["failed to add unordered nonce: sender akash1a has already used timeout 5: invalid request", "stale"],
  ["unordered transactions are not enabled: feature not supported", "unordered"],
  ['errUnknownField "/cosmos.tx.v1beta1.TxBody": {TagNum: 4, WireType:"varint"}: tx parse error', "unordered"],
  ["fee payer address: akash1a does not exist: unknown address", "account"],
  ["something new", "unexplained"],
];

for (const [log, kind] of logs) {
  test(`${JSON.stringify(log.slice(0, 60))} is read as ${kind}`, () => assert.equal(causeOf(log).kind, kind));
}

test("the real node's rejections are read for what they are", () => {
  const recorded = readJsonRecording<{ label: string; answer: { code: number; log?: string } }[]>("chain/refused.json");
  const kinds = recorded.flatMap(({ label, answer }) => (answer.log ? [[label, causeOf(answer.log).kind]] : []));
  assert.deepEqual(Object.fromEntries(kinds), {
    "unordered, stamp in the past": "stale",
    "unordered, stamp too far ahead": "stale",
    "unordered with a sequence": "unexplained",
    "ordered, sequence too high": "stale",
    "ordered, sequence too low": "stale",
    "fee too small": "price",
    "gas too small": "gas",
    "signed for another chain": "unexplained",
    garbage: "unexplained",
  });
});

test("a failed transaction is over only if it got as far as its messages", () => {
  const failed = { height: 5n, gasUsed: 1n, events: [], codespace: "sdk", code: 5, log: "insufficient funds" };
  assert.equal(fateOf({ ...failed, admitted: false }).kind, "undecided");
  assert.equal(fateOf({ ...failed, admitted: true, log: "something new" }).kind, "unexplained");
  assert.equal(
    fateOf({ ...failed, admitted: true, log: "out of gas in location: WriteFlat: out of gas" }).kind,
    "out of gas",
  );
  const named = "failed to execute message; message index: 2: bid not open";
  assert.deepEqual(fateOf({ ...failed, admitted: true, log: named }), { kind: "blamed", index: 2 });
  assert.equal(fateOf({ ...failed, code: 0, log: "", admitted: true }).kind, "done");
});

test("money that was missing in a block may be there another time, and so may what made the chain panic", () => {
  const failed = { height: 5n, gasUsed: 1n, events: [], codespace: "undefined", admitted: true };
  const short = "failed to execute message; message index: 2: deposit invalid: insufficient balance";
  assert.deepEqual(fateOf({ ...failed, code: 1, log: short }), { kind: "later", index: 2 });
  assert.deepEqual(fateOf({ ...failed, code: 111222, log: "panic" }), { kind: "later", index: undefined });
});
