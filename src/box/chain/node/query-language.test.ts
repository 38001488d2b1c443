import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { NodeError } from "./node-error.ts";
import { matchesQuery, parseQuery } from "./query-language.ts";

const events = new Map([
  ["tm.event", ["Tx"]],
  ["tx.height", ["12"]],
  ["message.action", ["/akash.market.v1beta5.MsgCreateBid", "/cosmos.bank.v1beta1.MsgSend"]],
  ["transfer.amount", ["12500uakt"]],
  ["rewards.share", ["0.25"]],
  ["big.amount", ["123456789012345678901234567890"]],
]);

const cases: [query: string, matches: boolean][] = [
  ["tm.event='Tx'", true],
  ["tm.event = 'Tx'", true],
  ["tm.event='NewBlock'", false],
  ["tx.height=12", true],
  ["tx.height='12'", true],
  ["tx.height=13", false],
  ["tx.height>11 AND tx.height<13", true],
  ["tx.height>=12 AND tx.height<=12", true],
  ["tx.height<12", false],
  ["tx.height > 12", false],
  ["message.action='/cosmos.bank.v1beta1.MsgSend'", true],
  ["message.action CONTAINS 'MsgCreateBid'", true],
  ["message.action CONTAINS 'MsgCloseBid'", false],
  ["message.sender EXISTS", false],
  ["message.action EXISTS AND tm.event='Tx'", true],
  ["transfer.amount>12499", true],
  ["transfer.amount=12500", true],
  ["rewards.share=0.250", true],
  ["rewards.share<0.3", true],
  ["big.amount=123456789012345678901234567890", true],
  ["big.amount>123456789012345678901234567889", true],
  ["message.action>5", false],
];

test("conditions are held against every value of their tag, and all must hold", () => {
  for (const [query, matches] of cases) assert.equal(matchesQuery(parseQuery(query), events), matches, query);
});

test("two queries that differ in spacing are one", () => {
  assert.equal(parseQuery("a.b='x'  AND c>5").text, parseQuery("a.b = 'x' AND c > 5").text);
});

test("what is not a query is rejected with the place where it stopped making sense", () => {
  for (const wrong of [
    "",
    "AND",
    "tm.event",
    "tm.event=",
    "tm.event='Tx",
    "a=1 b=2",
    "a>'x'",
    "a CONTAINS 5",
    "a ! 5",
  ]) {
    assert.throws(
      () => parseQuery(wrong),
      (thrown) => thrown instanceof NodeError && /offset/.test(thrown.message),
      wrong,
    );
  }
});

test("any text is either a query or rejected as one", () => {
  const piece = fc.oneof(
    fc.constantFrom("AND", "a.b", "'x'", "5", "5.5", "=", ">=", "CONTAINS", "EXISTS"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      try {
        matchesQuery(parseQuery(pieces.join(" ")), events);
      } catch (thrown) {
        assert.ok(thrown instanceof NodeError);
      }
    }),
    { numRuns: runs(300, 50_000) },
  );
});
