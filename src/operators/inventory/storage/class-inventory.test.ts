import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { gib, localVolume, storageClass, volume } from "../../../../test/support/samples/storage-samples.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { condition } from "../../../runtime/condition.ts";
import { sharedDisk } from "../accounting/node-inventory.ts";
import { localPathInventory, type NodeDisk, readStorageClass, readVolume, sumVolumes } from "./classes.ts";

const beta1 = readStorageClass(storageClass("beta1", "rancher.io/local-path"));

interface Sample {
  readonly name: string;
  /** What pods ask for of its 100 GiB. */
  readonly requested?: bigint;
  readonly offered?: boolean;
  /** Those of local-path that it has. */
  readonly classes?: readonly string[];
}

/** Nodes as the accounting shows them, with these volumes on their disks. */
function look(nodes: readonly Sample[], volumes: readonly KubeObject[] = []) {
  const sums = sumVolumes(volumes.map(readVolume), new Map([["beta1", beta1]]));
  const disks = nodes.map(({ name, requested = 0n, offered = true, classes = ["beta1"] }): NodeDisk => {
    const whole = { capacity: 110n * gib, allocatable: 100n * gib, allocated: requested * gib };
    const use = { volumesBytes: sums.onNode.get(name) ?? 0n, classes: classes.length };
    return { name, offered, storageClasses: offered ? classes : [], ephemeralBytes: sharedDisk(whole, use).amounts };
  });
  const seen = localPathInventory(beta1, disks, sums);
  const { capacity, allocatable, allocated } = seen.bytes;
  const ephemeralFree = disks.map(({ ephemeralBytes: each }) => (each.allocatable - each.allocated) / gib);
  return {
    capacity: capacity / gib,
    free: (allocatable - allocated) / gib,
    allocated: allocated / gib,
    ephemeralFree,
    conditions: seen.conditions.filter(({ type }) => type !== "RoomShared"),
    seen,
  };
}

test("the room is that of all nodes together, and as much of each disk is left for pods", () => {
  const found = look([{ name: "a" }, { name: "b" }], [localVolume("v", "beta1", "30Gi", "a")]);
  const { capacity, free, allocated, ephemeralFree } = found;
  assert.deepEqual({ capacity, free, allocated }, { capacity: 220n, free: 85n, allocated: 30n });
  assert.deepEqual(ephemeralFree, [35n, 50n]);
  assert.deepEqual([found.seen.driver, found.seen.replicas, found.conditions], ["local-path", 1, []]);
  assert.deepEqual(found.seen.conditions, [
    condition(
      "RoomShared",
      "its volumes lie on the disks that ephemeral storage comes from, so of each disk both are offered an equal part " +
        "of what is left; exclude.node_storage keeps the class from a node",
    ),
  ]);
});

test("what pods have taken of the same disk is not sold again", () => {
  const { free, ephemeralFree } = look([{ name: "a", requested: 60n }], [localVolume("v", "beta1", "30Gi", "a")]);
  assert.deepEqual([free, ephemeralFree], [5n, [5n]]);
});

test("volumes of another class on the same disk take room too", () => {
  const { free, allocated, ephemeralFree } = look([{ name: "a" }], [localVolume("v", "other", "30Gi", "a")]);
  assert.deepEqual({ free, allocated, ephemeralFree }, { free: 35n, allocated: 0n, ephemeralFree: [35n] });
});

test("two classes on a disk and its ephemeral storage are each offered a third", () => {
  const { free, ephemeralFree } = look([{ name: "a", requested: 10n, classes: ["beta1", "beta2"] }]);
  assert.deepEqual([free, ephemeralFree], [30n, [30n]]);
});

test("a node that is not offered gives no room, and its volumes take none from the others", () => {
  const volumes = [localVolume("v", "beta1", "90Gi", "a")];
  const { capacity, free, allocated } = look([{ name: "a", offered: false }, { name: "b" }], volumes);
  assert.deepEqual({ capacity, free, allocated }, { capacity: 220n, free: 50n, allocated: 90n });
});

test("a node that the class is kept from is no part of it, with its disk or its debts", () => {
  const excluded = { name: "a", classes: [] };
  const overbooked = { name: "b", requested: 200n, classes: [] };
  const found = look([excluded, overbooked, { name: "c", requested: 40n }]);
  assert.deepEqual([found.capacity, found.free, found.ephemeralFree[0]], [110n, 30n, 100n]);
  assert.deepEqual(found.conditions, []);
});

test("a disk that was promised twice is shown, and takes nothing from the others", () => {
  const nodes = [{ name: "a", requested: 80n }, { name: "b" }];
  const { free, conditions } = look(nodes, [localVolume("v", "beta1", "50Gi", "a")]);
  assert.equal(free, 50n);
  assert.match(conditions[0]?.message ?? "", /disk of a is overbooked/);
});

test("a volume on an unknown node takes room from all", () => {
  const { free, seen } = look([{ name: "a" }], [volume("v", "beta1", "130Gi")]);
  assert.equal(free, -80n);
  assert.ok(seen.conditions.some(({ type }) => type === "Overbooked"));
});

test("without nodes there is no room, and nothing is negative", () => {
  const { seen } = look([], [volume("v", "beta1", "1Gi")]);
  assert.deepEqual(seen.bytes, { capacity: 0n, allocatable: 0n, allocated: gib });
});

test("whatever pods and volumes take, no byte of a disk is offered both ways", () => {
  const few = fc.integer({ min: 0, max: 120 }).map(BigInt);
  const node = fc.record({ requested: few, volumes: few, classes: fc.constantFrom([], ["beta1"], ["beta1", "beta2"]) });
  fc.assert(
    fc.property(fc.array(node, { maxLength: 4 }), (samples) => {
      const nodes = samples.map((each, n) => ({ ...each, name: `n${n}` }));
      const volumes = nodes.map(({ name, volumes: size }) => localVolume(name, "beta1", `${size}Gi`, name));
      const { seen, ephemeralFree } = look(nodes, volumes);
      const left = nodes.map(({ requested, volumes: size }) => 100n - requested - size).filter((room) => room > 0n);
      const offered = [...ephemeralFree, (seen.bytes.allocatable - seen.bytes.allocated) / gib].filter(
        (free) => free > 0n,
      );
      const sum = (amounts: readonly bigint[]) => amounts.reduce((total, each) => total + each, 0n);
      assert.ok(sum(offered) <= sum(left), `${offered} of ${left}`);
    }),
    { numRuns: runs(200, 20_000) },
  );
});
