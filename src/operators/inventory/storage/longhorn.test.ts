import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import {
  type DiskSample,
  gib,
  longhornClass,
  longhornNode,
  longhornSetting,
  longhornVolume,
  volume,
} from "../../../../test/support/samples/storage-samples.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { readStorageClass, readVolume, sumVolumes } from "./classes.ts";
import {
  isDegraded,
  longhornInventory,
  readLonghornNode,
  readLonghornSetting,
  readLonghornVolume,
  spread,
} from "./longhorn.ts";

interface Scene {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly nodes?: readonly KubeObject[];
  readonly settings?: Readonly<Record<string, string>>;
  readonly volumes?: readonly KubeObject[];
  readonly longhornVolumes?: readonly KubeObject[];
  /** Classes that are sold beside this one. */
  readonly others?: readonly KubeObject[];
}

function look(scene: Scene) {
  const { parameters = {}, nodes = three(), settings = {}, volumes = [], longhornVolumes = [], others = [] } = scene;
  const storageClass = readStorageClass(longhornClass("beta2", parameters));
  const read = volumes.map(readVolume);
  return longhornInventory(storageClass, {
    nodes: nodes.map(readLonghornNode),
    settings: Object.entries(settings).map(([name, value]) => readLonghornSetting(longhornSetting(name, value))),
    volumes: sumVolumes(read, new Map([["beta2", storageClass]])),
    sold: [storageClass, ...others.map(readStorageClass)],
    classOf: (name) => read.find((each) => each.name === name)?.class,
    degraded: longhornVolumes.map(readLonghornVolume).filter(isDegraded),
  });
}

const three = (disk: DiskSample = {}) => ["a", "b", "c"].map((name) => longhornNode(name, { data: disk }));
const freeGib = ({ bytes }: ReturnType<typeof look>) => (bytes.allocatable - bytes.allocated) / gib;

test("a replica on each of three nodes: the room is that of one", () => {
  const seen = look({ nodes: three({ scheduled: 30n * gib }), volumes: [volume("a", "beta2", "30Gi")] });
  assert.deepEqual(seen.bytes, { capacity: 100n * gib, allocatable: 100n * gib, allocated: 30n * gib });
  assert.equal(seen.replicas, 3);
  assert.deepEqual(seen.conditions, []);
});

test("classes on the same disks are each offered a part of what is left, and those with tags of their own are not", () => {
  const nodes = [longhornNode("a", { fast: { tags: ["nvme"] }, slow: { tags: ["hdd"] } })];
  const single = { numberOfReplicas: "1" };
  const fast = { ...single, diskSelector: "nvme" };
  const others = [longhornClass("too", fast), longhornClass("apart", { ...single, diskSelector: "hdd" })];
  const seen = look({ nodes, parameters: fast, others });
  assert.equal(freeGib(seen), 50n);
  assert.match(seen.conditions[0]?.message ?? "", /^too lies on the same disks, so each of the 2 is offered/);
  assert.equal(
    freeGib(look({ nodes, parameters: { ...single, diskSelector: "hdd" }, others: others.slice(0, 1) })),
    100n,
  );
});

test("replicas come from the class, or else from the setting in either of its forms", () => {
  assert.equal(look({ parameters: { numberOfReplicas: "2" } }).replicas, 2);
  assert.equal(freeGib(look({ parameters: { numberOfReplicas: "2" } })), 150n);
  const unset = { numberOfReplicas: "" };
  assert.equal(look({ parameters: unset }).replicas, 3);
  assert.equal(look({ parameters: unset, settings: { "default-replica-count": "1" } }).replicas, 1);
  const both = { "default-replica-count": '{"v1":"2","v2":"1"}' };
  assert.equal(look({ parameters: unset, settings: both }).replicas, 2);
  assert.equal(look({ parameters: { ...unset, dataEngine: "v2" }, settings: both }).replicas, 1);
  assert.match(
    look({ parameters: { numberOfReplicas: "many" } }).conditions[0]?.message ?? "",
    /numberOfReplicas many/,
  );
});

test("a disk gives what Longhorn would schedule on it", () => {
  const one = { numberOfReplicas: "1" };
  const cases: [string, DiskSample, Scene["settings"], bigint][] = [
    ["all of it", {}, {}, 100n],
    ["less what is reserved", { reserved: 30n * gib }, {}, 70n],
    ["less what is scheduled", { scheduled: 45n * gib }, {}, 55n],
    ["twice, when it may be promised twice", {}, { "storage-over-provisioning-percentage": "200" }, 200n],
    ["nothing beyond its end", { scheduled: 120n * gib }, {}, 0n],
    ["nothing when too little is free", { available: 25n * gib }, {}, 0n],
    ["something when just enough is free", { available: 26n * gib }, {}, 100n],
    ["as the setting says", { available: 20n * gib }, { "storage-minimal-available-percentage": "10" }, 100n],
    ["nothing when reserved beyond its size", { reserved: 200n * gib }, {}, 0n],
    ["nothing when closed", { allowScheduling: false }, {}, 0n],
    ["nothing when it is emptied", { evictionRequested: true }, {}, 0n],
    ["nothing when Longhorn says so", { schedulable: false }, {}, 0n],
    ["nothing for another data engine", { diskType: "block" }, {}, 0n],
  ];
  for (const [what, disk, settings, free] of cases) {
    const seen = look({ parameters: one, nodes: [longhornNode("a", { data: disk })], ...(settings && { settings }) });
    assert.equal(freeGib(seen), free, what);
  }
  const block = [longhornNode("a", { data: { diskType: "block" } })];
  assert.equal(freeGib(look({ parameters: { ...one, dataEngine: "v2" }, nodes: block })), 100n);
});

test("a node that takes no replicas gives no room, and its disks still count as capacity", () => {
  const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
  for (const more of [notReady, { spec: { allowScheduling: false } }]) {
    const nodes = [longhornNode("a", { data: {} }, more), longhornNode("b", { data: {} })];
    const seen = look({ parameters: { numberOfReplicas: "1" }, nodes });
    assert.equal(seen.bytes.capacity, 200n * gib);
    assert.equal(freeGib(seen), 100n);
  }
});

test("tags choose nodes and disks, and one of them names the kind of disk", () => {
  const nodes = [
    longhornNode("a", { fast: { tags: ["ssd", "fast"] }, slow: { tags: ["hdd"] } }, {}),
    longhornNode("b", { fast: { tags: ["ssd"] } }),
  ];
  const parameters = { numberOfReplicas: "1", diskSelector: "ssd" };
  assert.equal(freeGib(look({ nodes, parameters })), 200n);
  assert.equal(look({ nodes, parameters }).performance, "ssd");
  assert.equal(freeGib(look({ nodes, parameters: { ...parameters, diskSelector: "ssd, fast" } })), 100n);
  assert.equal(freeGib(look({ nodes, parameters: { ...parameters, nodeSelector: "storage" } })), 0n);
  assert.equal(freeGib(look({ nodes, parameters: { numberOfReplicas: "1" } })), 300n);
  const settings = { "allow-empty-disk-selector-volume": "false" };
  assert.equal(freeGib(look({ nodes, parameters: { numberOfReplicas: "1" }, settings })), 0n);
});

test("replicas keep apart as far as Longhorn keeps them apart", () => {
  const alone = [longhornNode("a", { one: {}, two: {} })];
  const parameters = { numberOfReplicas: "2" };
  const together = { "replica-soft-anti-affinity": "true" };
  assert.equal(freeGib(look({ parameters, nodes: alone })), 0n);
  assert.equal(freeGib(look({ parameters, nodes: alone, settings: together })), 100n);
  const apart = { ...together, "replica-disk-soft-anti-affinity": "false" };
  assert.equal(freeGib(look({ parameters: { numberOfReplicas: "3" }, nodes: alone, settings: apart })), 0n);
  const zones = { "replica-zone-soft-anti-affinity": "false" };
  assert.equal(freeGib(look({ parameters, settings: zones })), 0n);
});

test("degraded volumes, overbooked disks and invalid values are reported", () => {
  const broken = longhornNode("z", {});
  const nonsense = { diskStatus: { data: { storageMaximum: "much" }, stray: {} } };
  const nodes = [...three({ scheduled: 120n * gib }), { ...broken, spec: { disks: { data: {} } }, status: nonsense }];
  const seen = look({
    nodes: [...nodes, { metadata: { name: "bare" } }],
    settings: { "storage-over-provisioning-percentage": "plenty" },
    volumes: [volume("pvc-1", "beta2", "1Gi"), volume("pvc-2", "other", "1Gi")],
    longhornVolumes: [longhornVolume("pvc-1", "degraded"), longhornVolume("pvc-2", "faulted")],
  });
  assert.deepEqual(
    seen.conditions.map(({ type, message }) => `${type}: ${message}`),
    [
      "StorageUnreadable: Longhorn reports no valid sizes of the disks data of z",
      "StorageUnreadable: Longhorn's settings storage-over-provisioning-percentage cannot be read; defaults apply",
      "Overbooked: more is scheduled than Longhorn allows on the disks data of a, data of b, data of c",
      "VolumesDegraded: replicas are missing of pvc-1 (degraded)",
    ],
  );
  assert.equal(freeGib(seen), 0n);
});

/** Puts one unit after the other on the domains that have most left. */
function placeOneByOne(domains: readonly bigint[], copies: number): bigint {
  const left = [...domains];
  for (let placed = 0n; ; placed += 1n) {
    const most = left.map((_, index) => index).sort((a, b) => Number(left[b]! - left[a]!));
    const chosen = most.slice(0, copies);
    if (chosen.length < copies || chosen.some((index) => left[index] === 0n)) return placed;
    for (const index of chosen) left[index]! -= 1n;
  }
}

test("what spreads over the domains is what could be placed there piece by piece", () => {
  const domains = fc.array(fc.integer({ min: 0, max: 40 }).map(BigInt), { maxLength: 7 });
  fc.assert(
    fc.property(domains, fc.integer({ min: 1, max: 5 }), (amounts, copies) => {
      assert.equal(spread(amounts, BigInt(copies)), placeOneByOne(amounts, copies));
    }),
    { numRuns: runs(300, 30_000) },
  );
});
