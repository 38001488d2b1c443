import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUse } from "./pod-use.ts";
import { nothing } from "./resources.ts";
import { createTally } from "./tally.ts";

function pod(uid: string, node: string | undefined, more: Partial<PodUse> = {}): PodUse {
  const { cpuMilli = 100n, memoryBytes = 5n, ephemeralBytes = 0n, gpus = 1n, gtSelected = [], problem } = more;
  return { uid, name: `lease/${uid}`, node, cpuMilli, memoryBytes, ephemeralBytes, gpus, gtSelected, problem };
}

test("the pods of a node add up, and those of another do not", () => {
  const tally = createTally();
  assert.deepEqual(tally.seen(pod("u1", "a")), ["a"]);
  assert.deepEqual(tally.seen(pod("u2", "a", { cpuMilli: 50n })), ["a"]);
  assert.deepEqual(tally.seen(pod("u3", "b")), ["b"]);
  assert.deepEqual(tally.perNode("a").sum, { cpuMilli: 150n, memoryBytes: 10n, ephemeralBytes: 0n, gpus: 2n });
  assert.equal(tally.counts.pods, 3);
});

test("the same pod seen again counts once, and changes nothing when it takes the same", () => {
  const tally = createTally();
  tally.seen(pod("u1", "a"));
  assert.deepEqual(tally.seen(pod("u1", "a")), []);
  assert.deepEqual(tally.seen(pod("u1", "a", { cpuMilli: 300n })), ["a"]);
  assert.equal(tally.perNode("a").sum.cpuMilli, 300n);
});

test("a pod that moves changes both nodes", () => {
  const tally = createTally();
  tally.seen(pod("u1", "a"));
  assert.deepEqual(tally.seen(pod("u1", "b")), ["a", "b"]);
  assert.deepEqual(tally.perNode("a").sum, nothing);
  assert.equal(tally.perNode("b").sum.cpuMilli, 100n);
});

test("two pods of the same name are two pods, in whatever order one replaces the other", () => {
  const tally = createTally();
  const replaced = { ...pod("u1", "a"), name: "lease/web-0" };
  const replacing = { ...pod("u2", "a"), name: "lease/web-0" };
  tally.seen(replaced);
  tally.seen(replacing);
  assert.deepEqual(tally.gone("u1"), ["a"]);
  assert.equal(tally.perNode("a").sum.cpuMilli, 100n);
  assert.deepEqual(tally.gone("u1"), []);
  assert.deepEqual(tally.gone("u2"), ["a"]);
  assert.deepEqual(tally.perNode("a").sum, nothing);
});

test("a label stays selected until the last pod that selects it is gone", () => {
  const tally = createTally();
  tally.seen(pod("u1", undefined, { gtSelected: ["beta3"] }));
  tally.seen(pod("u2", "a", { gtSelected: ["beta3", "beta2"] }));
  tally.gone("u1");
  assert.deepEqual(tally.gtSelected(), new Set(["beta3", "beta2"]));
  tally.seen(pod("u2", "a"));
  assert.deepEqual(tally.gtSelected(), new Set());
});

test("a pod that cannot be read is known of on its node until it can", () => {
  const tally = createTally();
  assert.deepEqual(tally.seen(pod("u1", "a", { problem: "requests.cpu" })), ["a"]);
  assert.equal(tally.perNode("a").unreadable, 1);
  assert.deepEqual(tally.seen(pod("u1", "a")), ["a"]);
  assert.equal(tally.perNode("a").unreadable, 0);
});

test("a recount that agrees finds nothing, and one that does not is counted and believed", () => {
  const tally = createTally();
  const there = [pod("u1", "a"), pod("u2", "b")];
  for (const each of there) tally.seen(each);
  assert.deepEqual(tally.recompute(there), []);
  tally.seen(pod("ghost", "a"));
  tally.seen(pod("other", "c", { gtSelected: ["beta3"] }));
  assert.deepEqual(tally.recompute(there).toSorted(), ["a", "c"]);
  assert.equal(tally.perNode("a").sum.cpuMilli, 100n);
  assert.deepEqual(tally.perNode("c").sum, nothing);
  assert.deepEqual(tally.gtSelected(), new Set());
  assert.deepEqual(tally.counts, { pods: 2, recounts: 2, drifts: 2 });
});
