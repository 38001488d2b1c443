import assert from "node:assert/strict";
import { test } from "node:test";
import { isNewerInCluster } from "./manifest.ts";

const first = { version: "aa", receivedAtMs: 1_000 };
const second = { version: "bb", receivedAtMs: 2_000 };

test("what the cluster keeps is believed where the journal has nothing, or something older", () => {
  assert.equal(isNewerInCluster(first, undefined, undefined), true);
  assert.equal(isNewerInCluster(second, first, undefined), true);
  assert.equal(isNewerInCluster(second, first, Buffer.from("bb", "hex")), true);
  assert.equal(isNewerInCluster({ ...first, withdrawnAtMs: 3_000 }, first, Buffer.from("aa", "hex")), true);
  assert.equal(isNewerInCluster(undefined, undefined, undefined), false);
  assert.equal(isNewerInCluster(first, first, Buffer.from("aa", "hex")), false);
});

test("a manifest that was just taken is kept while the chain as we know it still names the one before", () => {
  assert.equal(isNewerInCluster(first, second, Buffer.from("aa", "hex")), false);
});

test("what the chain names is kept, even if the clock went back before it came", () => {
  assert.equal(isNewerInCluster(second, { ...first, receivedAtMs: 500 }, Buffer.from("aa", "hex")), false);
});
