import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedDisk } from "./shared-disk.ts";

const gib = 1024n ** 3n;

function look(requested: bigint, volumes: bigint, classes: number) {
  const whole = { capacity: 110n * gib, allocatable: 100n * gib, allocated: requested * gib };
  const { amounts, debt } = sharedDisk(whole, { volumesBytes: volumes * gib, classes });
  return { allocatable: amounts.allocatable / gib, allocated: amounts.allocated / gib, debt };
}

test("a disk without volumes is all for pods, overbooked or not", () => {
  assert.deepEqual(look(30n, 0n, 0), { allocatable: 100n, allocated: 30n, debt: undefined });
  assert.deepEqual(look(130n, 0n, 0), { allocatable: 100n, allocated: 130n, debt: undefined });
});

test("what volumes hold of the disk is not sold as ephemeral storage, be their class sold or not", () => {
  assert.deepEqual(look(30n, 20n, 0), { allocatable: 80n, allocated: 30n, debt: undefined });
});

test("where such a class is sold, a part of what is left is kept for it", () => {
  assert.deepEqual(look(30n, 20n, 1), { allocatable: 55n, allocated: 30n, debt: undefined });
  assert.deepEqual(look(30n, 10n, 2), { allocatable: 50n, allocated: 30n, debt: undefined });
});

test("a disk that volumes and pods overbook together says what each of them holds", () => {
  const debt = "disk: pods hold 80Gi and local-path volumes 50Gi of its 100Gi";
  assert.deepEqual(look(80n, 50n, 1), { allocatable: 50n, allocated: 80n, debt });
  const volumesAlone = "disk: pods hold 0 and local-path volumes 130Gi of its 100Gi";
  assert.deepEqual(look(0n, 130n, 1), { allocatable: 0n, allocated: 0n, debt: volumesAlone });
});
