import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { createOverlay } from "./overlay.ts";
import { createStore, type Store } from "./store.ts";

type Step = { readonly key: string; readonly value: number | undefined };

function apply(store: Store, { key, value }: Step): void {
  const table = store.table<number>("table");
  if (value === undefined) table.delete(key);
  else table.set(key, value);
}

function contents(store: Store, prefix?: string, from?: string): unknown {
  return [...store.table<number>("table").entries(prefix, from)];
}

const key = fc.stringMatching(/^[ab]{1,3}$/);
const steps = fc.array(fc.record({ key, value: fc.option(fc.integer(), { nil: undefined }) }));

test("an overlay reads like a store to which the changes were made, and leaves the one below alone", () => {
  fc.assert(
    fc.property(steps, steps, key, (below, above, from) => {
      const [base, copy] = [createStore(), createStore()];
      for (const step of below) for (const store of [base, copy]) apply(store, step);
      const untouched = contents(base);
      const overlay = createOverlay(base);
      for (const step of above) for (const store of [overlay, copy]) apply(store, step);
      assert.deepEqual(contents(overlay), contents(copy));
      assert.deepEqual(contents(overlay, "a", from), contents(copy, "a", from));
      assert.equal(overlay.table("table").get(from), copy.table("table").get(from));
      assert.equal(overlay.table("table").has(from), copy.table("table").has(from));
      assert.deepEqual(contents(base), untouched);
      overlay.reset();
      assert.deepEqual(contents(overlay), untouched);
    }),
    { numRuns: runs(200, 5_000) },
  );
});

test("what was changed in a transaction that failed is gone from the overlay", () => {
  const overlay = createOverlay(createStore());
  apply(overlay, { key: "a", value: 1 });
  const fail = () => {
    apply(overlay, { key: "a", value: 2 });
    apply(overlay, { key: "b", value: 3 });
    throw new Error("no");
  };
  assert.throws(() => overlay.transaction(fail), /no/);
  assert.deepEqual(contents(overlay), [["a", 1]]);
  apply(createOverlay(overlay), { key: "a", value: undefined });
  assert.deepEqual(contents(overlay), [["a", 1]]);
});
