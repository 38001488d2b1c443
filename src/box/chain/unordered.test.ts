import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext } from "./context.ts";
import { createGasMeter } from "./gas.ts";
import { createStore } from "./store.ts";
import { forgetPassedStamps, takeStamp } from "./unordered.ts";

const minute = 60n * 1_000_000_000n;
const at = (timeNs: bigint) => ({ chainId: "lab-1", height: 1n, timeNs });

test("a stamp may lie between now and ten minutes ahead", () => {
  const context = createContext(at(minute), createStore(), []);
  for (const [stampNs, reason] of [
    [0n, /must have timeout_timestamp set/],
    [minute - 1n, /has already passed/],
    [11n * minute + 1n, /ttl exceeds 10m0s/],
  ] as const) {
    assert.throws(() => takeStamp(context, stampNs, ["a"], true), reason);
  }
  takeStamp(context, minute, ["a"], true);
  takeStamp(context, 11n * minute, ["a"], true);
});

test("a stamp costs 2240 gas, also where it is not remembered", () => {
  const store = createStore();
  const meter = createGasMeter(1_000_000n);
  const context = createContext(at(minute), store, [], meter);
  takeStamp(context, minute, ["a"], false);
  assert.equal(meter.used, 2240n);
  takeStamp(context, minute, ["a"], false);
  takeStamp(context, minute, ["a"], true);
  assert.throws(() => takeStamp(context, minute, ["b", "a"], true), /sender a has already used timeout 60000000000/);
});

test("stamps are forgotten once their time has passed, and not before", () => {
  const store = createStore();
  const early = createContext(at(minute), store, []);
  for (const stampNs of [2n * minute, 2n * minute + 1n, 3n * minute]) takeStamp(early, stampNs, ["a"], true);
  forgetPassedStamps(createContext(at(2n * minute + 1n), store, []));
  const left = [...store.table("auth/unordered-stamps").entries()].map(([key]) => BigInt(key.split("/")[0]!));
  assert.deepEqual(left, [2n * minute + 1n, 3n * minute]);
});
