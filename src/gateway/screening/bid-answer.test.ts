import assert from "node:assert/strict";
import { test } from "node:test";
import { cheap, failingOrders } from "../../../test/support/samples/failing-orders.ts";
import { checkNames, decide } from "../../bidengine/decision/decide.ts";
import { failedChecks } from "../../bidengine/decision/decision.ts";
import { reasonsOf, screeningReasons } from "./bid-answer.ts";

const { signal } = new AbortController();

/** Of the order that fails there and nowhere else. */
const expected: Readonly<Record<string, RegExp>> = {
  biddingIsOn: /^capacity check failed: the provider does not bid now$/,
  settingsComplete: /^capacity check failed: the provider does not bid now$/,
  mirrorIsFresh: /^capacity check failed: the provider is behind the chain$/,
  inventoryFresh: /^capacity check failed: the inventory is not available$/,
  groupIsWellFormed: /^group validation error: .*cpu in thousandths must be from 10 to 384000, not 1/,
  attributesMatch: /^incompatible provider attributes$/,
  configuredAttributesDemanded: /^incompatible order attributes$/,
  auditorsMatch: /^attribute signature requirements not met$/,
  capabilitiesMatch: /^incompatible attributes for resources requirements$/,
  volumesWithinLimit: /^group volumes count exceeds limit \(5 > 4\)$/,
  manifestPossible: /^group validation error: .*storage "my_data" has an invalid name/,
  tenantAllowed: /^capacity check failed: the provider does not serve this account$/,
  denominationKnown: /^unsupported denomination: umoon$/,
  reclamationAgreed: /^capacity check failed: .*25 h/,
  placementExists: /^provider does not have sufficient resources for this deployment$/,
  withinOfferCaps: /^capacity check failed: the group is larger than what the provider offers$/,
  addressesAvailable: /^capacity check failed: no address is free$/,
  depositCovered: /^capacity check failed: the provider cannot place a bid now$/,
  bidsLeft: /^capacity check failed: the order takes no more bids$/,
  priceGiven: /^pricing calculation failed: there is no price for it$/,
  priceWithinMax: /^price too high: calculated 100\.500000000000000000uakt, max-price 100\.000000000000000000uakt$/,
};

test("every check of the bid engine has a reason", () => {
  assert.deepEqual(Object.keys(screeningReasons).sort(), [...checkNames].sort());
  assert.deepEqual(Object.keys(expected).sort(), [...checkNames].sort());
});

for (const [name, { inputs, pricing = cheap }] of Object.entries(failingOrders)) {
  test(`failed check ${name} → the Go provider's reason`, async () => {
    const decision = await decide(inputs, pricing, signal);
    assert.deepEqual(
      failedChecks(decision).map((check) => check.name),
      [name],
    );
    const reasons = reasonsOf(decision, inputs.request.group);
    assert.equal(reasons.length, 1);
    assert.match(reasons[0] ?? "", expected[name] ?? /^$/);
  });
}
