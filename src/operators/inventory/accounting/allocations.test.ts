import assert from "node:assert/strict";
import { test } from "node:test";
import { createAllocations } from "../../../../test/support/pod-allocations.ts";
import { nothing } from "./resources.ts";
import type { WatchedPod } from "./watched-pod.ts";

function pod(uid: string, node: string | undefined, more: Partial<WatchedPod> = {}): WatchedPod {
  const { cpuMilli = 100n, memoryBytes = 5n, ephemeralBytes = 0n, gpus = 1n, gtSelected = [], problem } = more;
  return { uid, name: `lease/${uid}`, node, cpuMilli, memoryBytes, ephemeralBytes, gpus, gtSelected, problem };
}

test("the pods of a node add up, and those of another do not", () => {
  const allocations = createAllocations();
  assert.deepEqual(allocations.seen(pod("u1", "a")), ["a"]);
  assert.deepEqual(allocations.seen(pod("u2", "a", { cpuMilli: 50n })), ["a"]);
  assert.deepEqual(allocations.seen(pod("u3", "b")), ["b"]);
  assert.deepEqual(allocations.ofNode("a").sum, { cpuMilli: 150n, memoryBytes: 10n, ephemeralBytes: 0n, gpus: 2n });
  assert.equal(allocations.size, 3);
});

test("the same pod seen again counts once, and changes nothing when it takes the same", () => {
  const allocations = createAllocations();
  allocations.seen(pod("u1", "a"));
  assert.deepEqual(allocations.seen(pod("u1", "a")), []);
  assert.deepEqual(allocations.seen(pod("u1", "a", { cpuMilli: 300n })), ["a"]);
  assert.equal(allocations.ofNode("a").sum.cpuMilli, 300n);
});

test("a pod that moves changes both nodes", () => {
  const allocations = createAllocations();
  allocations.seen(pod("u1", "a"));
  assert.deepEqual(allocations.seen(pod("u1", "b")), ["a", "b"]);
  assert.deepEqual(allocations.ofNode("a").sum, nothing);
  assert.equal(allocations.ofNode("b").sum.cpuMilli, 100n);
});

test("two pods of the same name are two pods, in whatever order one replaces the other", () => {
  const allocations = createAllocations();
  const replaced = { ...pod("u1", "a"), name: "lease/web-0" };
  const replacing = { ...pod("u2", "a"), name: "lease/web-0" };
  allocations.seen(replaced);
  allocations.seen(replacing);
  assert.deepEqual(allocations.gone("u1"), ["a"]);
  assert.equal(allocations.ofNode("a").sum.cpuMilli, 100n);
  assert.deepEqual(allocations.gone("u1"), []);
  assert.deepEqual(allocations.gone("u2"), ["a"]);
  assert.deepEqual(allocations.ofNode("a").sum, nothing);
});

test("a label stays selected until the last pod that selects it is gone", () => {
  const allocations = createAllocations();
  allocations.seen(pod("u1", undefined, { gtSelected: ["beta3"] }));
  allocations.seen(pod("u2", "a", { gtSelected: ["beta3", "beta2"] }));
  allocations.gone("u1");
  assert.deepEqual(allocations.gtSelected(), new Set(["beta3", "beta2"]));
  allocations.seen(pod("u2", "a"));
  assert.deepEqual(allocations.gtSelected(), new Set());
});

test("a pod that cannot be read is known of on its node until it can", () => {
  const allocations = createAllocations();
  assert.deepEqual(allocations.seen(pod("u1", "a", { problem: "requests.cpu" })), ["a"]);
  assert.equal(allocations.ofNode("a").pods[0]?.problem, "requests.cpu");
  assert.deepEqual(allocations.seen(pod("u1", "a")), ["a"]);
  assert.equal(allocations.ofNode("a").pods[0]?.problem, undefined);
});
