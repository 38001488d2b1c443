import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../../runtime/errors.ts";
import type { MirrorKey } from "../chain.ts";
import { createSteps } from "./comet-chain.ts";

const order = (key: string): MirrorKey => ({ kind: "order", key });
const failure = () => new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "it is locked" });

/** Steps of a mirror that reports the given keys. */
function startSteps() {
  let found: readonly MirrorKey[] = [];
  const find = async () => found;
  const steps = createSteps({ apply: find, build: find, compare: find });
  async function step(...keys: MirrorKey[]) {
    found = keys;
    await steps.gap({ from: 1n, to: 1n });
  }
  return { steps, step };
}

test("keys are owed to all listeners until the last of them has taken them", async () => {
  const { steps, step } = startSteps();
  const reported: (readonly MirrorKey[])[] = [];
  let failures = 2;
  steps.onStep(({ changed }) => void reported.push(changed));
  steps.onStep(() => {
    if (failures-- > 0) throw failure();
  });
  await assert.rejects(step(order("a"), order("b")), { code: "AKP_JOURNAL_BUSY" });
  await assert.rejects(step(), { code: "AKP_JOURNAL_BUSY" });
  await step(order("b"), order("c"));
  await step(order("d"));
  const [first, second] = [
    [order("a"), order("b")],
    [order("a"), order("b"), order("c")],
  ];
  assert.deepEqual(reported, [first, first, second, [order("d")]]);
});

test("a step is delivered only after the one before it was processed", async () => {
  const seen: string[] = [];
  const names = ["1", "2"];
  const find = async () => [order(names.shift() ?? "")];
  const steps = createSteps({ apply: find, build: find, compare: find });
  steps.onStep(async ({ changed }) => {
    seen.push(`begin ${changed[0]?.key}`);
    await new Promise(setImmediate);
    seen.push(`end ${changed[0]?.key}`);
  });
  await Promise.all([steps.gap({ from: 1n, to: 1n }), steps.compare()]);
  assert.deepEqual(seen, ["begin 1", "end 1", "begin 2", "end 2"]);
});
