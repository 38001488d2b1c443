import assert from "node:assert/strict";
import { test } from "node:test";
import { gib, localVolume, storageClass, volume } from "../../../../test/storage-samples.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { localPathInventory, type NodeDisk } from "./local-path.ts";
import { readStorageClass } from "./storage-class.ts";
import { readVolume, sumVolumes } from "./volumes.ts";

const beta1 = readStorageClass(storageClass("beta1", "rancher.io/local-path"));

function node(name: string, allocated = 0n, more: Partial<NodeDisk> = {}): NodeDisk {
  const ephemeralBytes = { capacity: 110n * gib, allocatable: 100n * gib, allocated: allocated * gib };
  return { name, offered: true, storageClasses: ["beta1"], ephemeralBytes, ...more };
}

function look(nodes: readonly NodeDisk[], volumes: readonly KubeObject[] = []) {
  const seen = localPathInventory(beta1, nodes, sumVolumes(volumes.map(readVolume), new Map([["beta1", beta1]])));
  const { capacity, allocatable, allocated } = seen.bytes;
  return { capacity: capacity / gib, free: (allocatable - allocated) / gib, allocated: allocated / gib, seen };
}

test("the room is that of all nodes together, not of the last one seen", () => {
  const { capacity, free, allocated, seen } = look([node("a"), node("b")], [localVolume("v", "beta1", "30Gi", "a")]);
  assert.deepEqual({ capacity, free, allocated }, { capacity: 220n, free: 170n, allocated: 30n });
  assert.deepEqual([seen.driver, seen.replicas, seen.conditions], ["local-path", 1, []]);
});

test("what pods have taken of the same disk is not sold again", () => {
  assert.equal(look([node("a", 60n)], [localVolume("v", "beta1", "30Gi", "a")]).free, 10n);
});

test("volumes of another class on the same disk take room too", () => {
  const { free, allocated } = look([node("a")], [localVolume("v", "other", "30Gi", "a")]);
  assert.deepEqual({ free, allocated }, { free: 70n, allocated: 0n });
});

test("a node that is not offered gives no room, and its volumes take none from the others", () => {
  const cordoned = node("a", 0n, { offered: false, storageClasses: [] });
  const { capacity, free, allocated } = look([cordoned, node("b")], [localVolume("v", "beta1", "90Gi", "a")]);
  assert.deepEqual({ capacity, free, allocated }, { capacity: 220n, free: 100n, allocated: 90n });
});

test("a node that the class is kept from is no part of it, with its disk or its debts", () => {
  const excluded = node("a", 0n, { storageClasses: ["beta2"] });
  const overbooked = node("b", 200n, { storageClasses: [] });
  const { capacity, free, seen } = look([excluded, overbooked, node("c", 40n)]);
  assert.deepEqual({ capacity, free }, { capacity: 110n, free: 60n });
  assert.deepEqual(seen.conditions, []);
});

test("a disk that was promised twice is shown, and takes nothing from the others", () => {
  const { free, seen } = look([node("a", 80n), node("b")], [localVolume("v", "beta1", "50Gi", "a")]);
  assert.equal(free, 100n);
  assert.match(seen.conditions[0]?.message ?? "", /of a were promised 30Gi more/);
});

test("a volume on nobody knows which node takes room from all", () => {
  const { free, seen } = look([node("a")], [volume("v", "beta1", "130Gi")]);
  assert.equal(free, -30n);
  assert.equal(seen.conditions[0]?.type, "Overbooked");
});

test("without nodes there is no room, and nothing is negative", () => {
  const { seen } = look([], [volume("v", "beta1", "1Gi")]);
  assert.deepEqual(seen.bytes, { capacity: 0n, allocatable: 0n, allocated: gib });
});
