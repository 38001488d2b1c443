import assert from "node:assert/strict";
import { test } from "node:test";
import { isNewerInCluster } from "./manifest.ts";

const first = { version: "aa", receivedAtMs: 1_000 };
const second = { version: "bb", receivedAtMs: 2_000 };

test("the cluster's record wins where the journal has none or an older one", () => {
  assert.equal(isNewerInCluster(first, undefined, undefined), true);
  assert.equal(isNewerInCluster(second, first, undefined), true);
  assert.equal(isNewerInCluster(second, first, Buffer.from("bb", "hex")), true);
  assert.equal(isNewerInCluster({ ...first, withdrawnAtMs: 3_000 }, first, Buffer.from("aa", "hex")), true);
  assert.equal(isNewerInCluster(undefined, undefined, undefined), false);
  assert.equal(isNewerInCluster(first, first, Buffer.from("aa", "hex")), false);
});

test("a manifest that was just accepted is kept while our view of the chain has the previous hash", () => {
  assert.equal(isNewerInCluster(first, second, Buffer.from("aa", "hex")), false);
});

test("the manifest with the chain's hash is kept even after the clock went back", () => {
  assert.equal(isNewerInCluster(second, { ...first, receivedAtMs: 500 }, Buffer.from("aa", "hex")), false);
});
