import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { createGtMemory, gtSelectedKeys, inventoryGtKeptMs } from "./wanted-labels.ts";

const beta2 = "akash.network/capabilities.storage.class.beta2";
const beta3 = "akash.network/capabilities.storage.class.beta3";

function selecting(...matchExpressions: unknown[]): unknown {
  const required = { nodeSelectorTerms: [{}, { matchExpressions }] };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
}

test("only storage classes that are selected with Gt are returned, each once", () => {
  const spec = selecting(
    { key: beta3, operator: "Gt", values: ["0"] },
    { key: beta2, operator: "In", values: ["true", "1"] },
    { key: "akash.network/capabilities.gpu.vendor.nvidia.model.h100", operator: "Gt", values: ["0"] },
    { key: beta3, operator: "Gt", values: ["0"] },
  );
  assert.deepEqual(gtSelectedKeys(spec), [beta3]);
});

test("a preference is no selection", () => {
  const preference = { matchExpressions: [{ key: beta3, operator: "Gt", values: ["0"] }] };
  const spec = {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } },
  };
  assert.deepEqual(gtSelectedKeys(spec), []);
});

test("a spec of any shape selects nothing", () => {
  for (const spec of [undefined, null, 3, { affinity: null }, selecting(null, { operator: "Gt" }, 7)]) {
    assert.deepEqual(gtSelectedKeys(spec), []);
  }
});

test("a label that was selected a moment ago still counts as selected, and one of long ago does not", async () => {
  const clock = createVirtualClock();
  const select = createGtMemory(clock);
  assert.deepEqual(select(new Set(["beta3"])), new Set(["beta3"]));
  await clock.advance(inventoryGtKeptMs - 1);
  assert.deepEqual(select(new Set(["beta2"])), new Set(["beta3", "beta2"]));
  await clock.advance(1);
  assert.deepEqual(select(new Set(["beta2"])), new Set(["beta2"]));
  await clock.advance(3_600_000);
  assert.deepEqual(select(new Set()), new Set());
});
