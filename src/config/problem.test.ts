import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { editDistance, isSameName, nearest } from "./problem.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });

test("the distance between words is zero only for equal ones, the same both ways, and at most the longer word", () => {
  fc.assert(
    fc.property(word, word, (one, other) => {
      const distance = editDistance(one, other);
      assert.equal(distance === 0, one === other);
      assert.equal(distance, editDistance(other, one));
      assert.ok(distance >= Math.abs(one.length - other.length) && distance <= Math.max(one.length, other.length));
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("a letter more, less, other or swapped is one edit", () => {
  for (const typo of ["bid-timeouts", "bid-timeot", "bid-tineout", "bid-timeuot"]) {
    assert.equal(editDistance("bid-timeout", typo), 1, typo);
  }
});

test("the nearest name is found whatever its case and its dashes", () => {
  const names = ["bidpricecpuscale", "bidpricememoryscale", "deployment_ingress_domain"];
  assert.equal(nearest("bid-price-cpu-scale", names), "bidpricecpuscale");
  assert.equal(nearest("deploymentIngressDomian", names), "deployment_ingress_domain");
});

test("nothing is suggested for a word that resembles nothing", () => {
  assert.equal(nearest("foo", ["from", "node", "home"]), undefined);
  assert.equal(nearest("x".repeat(100_000), ["from"]), undefined);
});

test("names are the same but for case, dashes and underscores", () => {
  assert.equal(isSameName("bidTimeout", "bid-timeout"), true);
  assert.equal(isSameName("bid_timeout", "bid-timeouts"), false);
});
