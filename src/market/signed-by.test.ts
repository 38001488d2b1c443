import assert from "node:assert/strict";
import { test } from "node:test";
import { signaturesFor } from "./attributes.ts";

const region = { key: "region", value: "us-west" };
const tier = { key: "tier", value: "community" };
const audited = new Map([
  ["alice", [region, tier]],
  ["bob", [region]],
]);

const cases: [what: string, allOf: string[], anyOf: string[], allOfMissing: string[], anyOfMissing: string[]][] = [
  ["no auditor required", [], [], [], []],
  ["each of those who must all sign has", ["alice"], [], [], []],
  ["one of those who must all sign has signed less", ["alice", "bob"], [], ["bob"], []],
  ["one of those who must all sign is unknown", ["alice", "carol"], [], ["carol"], []],
  ["one of several is enough", [], ["carol", "bob", "alice"], [], []],
  ["none of several has signed it all", [], ["carol", "bob"], [], ["carol", "bob"]],
  ["both must hold", ["alice"], ["bob"], [], ["bob"]],
  ["both hold", ["alice"], ["alice", "bob"], [], []],
];

for (const [what, allOf, anyOf, allOfMissing, anyOfMissing] of cases) {
  test(`signatures: ${what}`, () => {
    const signed = allOfMissing.length + anyOfMissing.length === 0;
    const requirements = { attributes: [region, { key: "tie?", value: "community" }], allOf, anyOf };
    assert.deepEqual(signaturesFor(requirements, audited), { signed, allOfMissing, anyOfMissing });
  });
}

test("an auditor without signatures never counts", () => {
  const requirements = { attributes: [], allOf: ["carol"], anyOf: [] };
  assert.deepEqual(signaturesFor(requirements, audited).allOfMissing, ["carol"]);
  assert.equal(signaturesFor({ ...requirements, allOf: ["bob"] }, audited).signed, true);
});
