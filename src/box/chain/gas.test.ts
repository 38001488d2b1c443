import assert from "node:assert/strict";
import { test } from "node:test";
import { createGasMeter, meteredStore, OutOfGas } from "./gas.ts";
import { createStore } from "./store.ts";

test("each access has the price that the chain's own store has", () => {
  const meter = createGasMeter(1_000_000n);
  const table = meteredStore(createStore(), meter).table<string>("table");
  const cost = (work: () => unknown) => {
    const before = meter.used;
    work();
    return Number(meter.used - before);
  };
  assert.equal(
    cost(() => table.get("key")),
    1000 + 3 * 3,
  );
  assert.equal(
    cost(() => table.set("key", "value")),
    2000 + 30 * (3 + 7),
  );
  assert.equal(
    cost(() => table.get("key")),
    1000 + 3 * (3 + 7),
  );
  assert.equal(
    cost(() => table.has("key")),
    1000,
  );
  assert.equal(
    cost(() => [...table.entries()]),
    30 + 3 * (3 + 7),
  );
  assert.equal(
    cost(() => table.delete("key")),
    1000,
  );
});

test("what is written last before the gas runs out is not written", () => {
  const store = createStore();
  const meter = createGasMeter(2_100n);
  const table = meteredStore(store, meter).table<string>("table");
  assert.throws(() => table.set("key", "value"), OutOfGas);
  assert.equal(store.table("table").get("key"), undefined);
  assert.equal(meter.used, 2_300n);
});

test("larger things cost more, in whatever shape they come", () => {
  const cost = (value: unknown) => {
    const meter = createGasMeter(1_000_000n);
    meteredStore(createStore(), meter).table("table").set("key", value);
    return meter.used;
  };
  const sorted = [
    1,
    "text",
    { text: "text" },
    { list: ["text", "text"] },
    { bytes: new Uint8Array(100), amount: 10n ** 20n },
  ];
  const costs = sorted.map(cost);
  assert.deepEqual(
    costs.toSorted((left, right) => Number(left - right)),
    costs,
  );
  assert.equal(new Set(costs).size, costs.length);
});
