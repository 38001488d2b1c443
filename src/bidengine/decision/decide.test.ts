import assert from "node:assert/strict";
import { test } from "node:test";
import { someInputs } from "../../../test/support/samples/decision-samples.ts";
import { cheap, failingOrders } from "../../../test/support/samples/failing-orders.ts";
import { formatDecCoin, parseDecCoin } from "../../market/coin.ts";
import type { Fit } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import type { Pricing } from "../pricing/pricing.ts";
import { checkNames, decide, screen } from "./decide.ts";
import { type Decision, explain, failedChecks, waitsFor } from "./decision.ts";
import { bidTerms } from "./money-checks.ts";
import { readDecision, writeDecision } from "./record.ts";

const { signal } = new AbortController();
const hourNs = 3_600_000_000_000n;

function names(checks: Decision["checks"]): string[] {
  return checks.map(({ name }) => name);
}

test("every check has an order that fails there", () => {
  assert.deepEqual(Object.keys(failingOrders), checkNames);
});

for (const [name, { inputs, reason, until, pricing = cheap }] of Object.entries(failingOrders)) {
  test(`an order can fail at ${name} alone, and is explained alike from the journal`, async () => {
    const decision = await decide(inputs, pricing, signal);
    assert.equal(decision.verdict, "no");
    assert.deepEqual(names(failedChecks(decision)), [name]);
    assert.match(failedChecks(decision)[0]?.reason ?? "", reason);
    assert.deepEqual([...waitsFor(decision)], until === "never" ? [] : [until]);
    assert.deepEqual(names(decision.checks), checkNames, "all are named, also after a no");
    const readBack = readDecision(JSON.parse(JSON.stringify(writeDecision(decision))));
    assert.deepEqual(explain(readBack), explain(decision));
    if (inputs.bidsOnOrder !== undefined) return;
    const screened = await screen(inputs.request, inputs.context, pricing, signal);
    assert.deepEqual(explain(screened), explain(decision));
  });
}

test("an order that passes everything is bid on, for the price that was screened", async () => {
  const inputs = someInputs({ bidsOnOrder: 20, request: { reclamationWindowNs: 24n * hourNs } });
  const decision = await decide(inputs, cheap, signal);
  const screened = await screen(inputs.request, inputs.context, cheap, signal);
  assert.equal(decision.verdict, "bid");
  assert.ok(decision.price && screened.price);
  assert.equal(formatDecCoin(decision.price), formatDecCoin(screened.price));
  assert.deepEqual(failedChecks(decision), []);
  assert.equal(explain(decision)[0], "bid at 80uakt per block");
});

test("of several offers the first is priced as a new order, and the others after the first ones of all orders", async () => {
  const { context, ...rest } = someInputs();
  const { capacity } = context;
  function fit(group: GroupSpec): Fit {
    const first = capacity.fit(group);
    return first.fits ? { ...first, others: [{ ...first }, { ...first }] } : first;
  }
  const further: (boolean | undefined)[] = [];
  const pricing: Pricing = {
    ...cheap,
    quote(request, signal) {
      further.push(request.isFurther);
      return cheap.quote(request, signal);
    },
  };
  const decision = await decide({ ...rest, context: { ...context, capacity: { ...capacity, fit } } }, pricing, signal);
  assert.equal(decision.verdict, "bid");
  assert.deepEqual(further, [false, true, true]);
});

test("a no that comes only from what it would cost keeps the price that was wanted", async () => {
  const wanted = parseDecCoin("7uakt");
  const dear: Pricing = {
    quote: () => ({ price: undefined, wanted, reason: "requested rate is too low", evidence: {} }),
    onChange: () => undefined,
    error: undefined,
  };
  const { verdict, price } = await decide(someInputs(), dear, signal);
  assert.deepEqual([verdict, price], ["no", wanted]);
});

test("deposit → the larger of ours and the chain's; reclamation window → only where requested", () => {
  const small = someInputs({ context: { bidDeposit: { denom: "uakt", amount: 1n } } });
  assert.deepEqual(bidTerms(small.request, small.context), {
    deposit: { denom: "uakt", amount: 500_000n },
    reclamationWindowNs: undefined,
  });
  const large = someInputs({
    request: { reclamationWindowNs: hourNs },
    context: { bidDeposit: { denom: "uakt", amount: 600_000n } },
  });
  assert.deepEqual(bidTerms(large.request, large.context), {
    deposit: { denom: "uakt", amount: 600_000n },
    reclamationWindowNs: 24n * hourNs,
  });
});
