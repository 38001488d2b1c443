import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import {
  cephCluster,
  cephDf,
  cephFilesystem,
  cephfsClass,
  cephPool,
  gib,
  rbdClass,
  rbdVolume,
  storageClass,
} from "../../../../test/support/samples/storage-samples.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { condition } from "../../../runtime/condition.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { cephInventory, readCephCluster, readCephFilesystem, readCephPool } from "./ceph.ts";
import { type CephReading, parseCephDf } from "./ceph-usage.ts";
import { readStorageClass, readVolume, sumVolumes } from "./classes.ts";

interface Scene {
  readonly classes?: readonly KubeObject[];
  readonly volumes?: readonly KubeObject[];
  readonly clusters?: readonly KubeObject[];
  readonly pools?: readonly KubeObject[];
  readonly filesystems?: readonly KubeObject[];
  readonly df?: string;
  readonly reading?: CephReading;
}

function look(scene: Scene) {
  const classes = (scene.classes ?? [rbdClass("beta3")]).map(readStorageClass);
  const byName = new Map(classes.map((each) => [each.name, each]));
  const reading = scene.reading ?? (scene.df === undefined ? undefined : { df: parseCephDf(scene.df), atMs: 0 });
  const view = {
    clusters: (scene.clusters ?? [cephCluster()]).map(readCephCluster),
    pools: [...(scene.pools ?? []).map(readCephPool), ...(scene.filesystems ?? []).flatMap(readCephFilesystem)],
    reading: (namespace: string) => (namespace === "rook-ceph" ? reading : undefined),
    volumes: sumVolumes((scene.volumes ?? []).map(readVolume), byName),
    sold: classes,
  };
  return classes.map((each) => cephInventory(each, view));
}

const pool = (stored: bigint, maxAvail: bigint) => cephDf({ replicapool: [stored * gib, maxAvail * gib] });
const inGib = ({ bytes }: ReturnType<typeof cephInventory>) => ({
  capacity: bytes.capacity / gib,
  allocatable: bytes.allocatable / gib,
  allocated: bytes.allocated / gib,
});

test("what volumes were promised and have not written yet is kept for them", () => {
  const cases: [string, stored: bigint, avail: bigint, promised: string[], capacity: bigint, free: bigint][] = [
    ["nothing is promised", 0n, 100n, [], 100n, 100n],
    ["an empty volume", 0n, 100n, ["30Gi"], 100n, 70n],
    ["a volume that is half full", 15n, 85n, ["30Gi"], 100n, 70n],
    ["a full volume", 30n, 70n, ["30Gi"], 100n, 70n],
    ["what others stored makes no room", 50n, 50n, ["30Gi"], 100n, 50n],
    ["all of it is promised", 10n, 90n, ["60Gi", "40Gi"], 100n, 0n],
  ];
  for (const [what, stored, avail, sizes, capacity, free] of cases) {
    const volumes = sizes.map((size, index) => rbdVolume(`v${index}`, "beta3", size));
    const [seen] = look({ df: pool(stored, avail), volumes });
    const amounts = inGib(seen!);
    assert.equal(amounts.capacity, capacity, what);
    assert.equal(amounts.allocatable - amounts.allocated, free, what);
    assert.deepEqual(seen?.conditions, [], what);
  }
});

test("more promised than can be kept is shown with by how much", () => {
  const [seen] = look({ df: pool(10n, 40n), volumes: [rbdVolume("a", "beta3", "80Gi")] });
  assert.deepEqual(inGib(seen!), { capacity: 50n, allocatable: 50n, allocated: 80n });
  assert.equal(seen?.conditions[0]?.type, "Overbooked");
  assert.match(seen?.conditions[0]?.message ?? "", /80Gi were promised, and 30Gi are missing/);
});

test("classes of one pool see each other's volumes, those of a class that is gone too, and share what is left", () => {
  const classes = [rbdClass("beta2"), rbdClass("beta3")];
  const volumes = [rbdVolume("a", "beta2", "20Gi"), rbdVolume("b", "beta3", "30Gi"), rbdVolume("c", "gone", "10Gi")];
  const seen = look({ df: pool(0n, 100n), classes, volumes });
  const [beta2, beta3] = seen.map(inGib);
  // With the 10 of the class that is gone, both together are the 100 that there are.
  assert.deepEqual(beta2, { capacity: 100n, allocatable: 40n, allocated: 20n });
  assert.deepEqual(beta3, { capacity: 100n, allocatable: 50n, allocated: 30n });
  assert.deepEqual(seen[0]?.conditions, [
    condition(
      "RoomShared",
      "beta3 lies on the same disks, so each of the 2 is offered an equal part of what is left; to offer more of one, " +
        "take the others from cluster_storage or give them disks of their own",
    ),
  ]);
});

test("pools on the same disks leave each other what they have not promised, by how many copies each keeps", () => {
  const classes = [rbdClass("beta2", { pool: "double" }), rbdClass("beta3", { pool: "triple" })];
  const pools = [cephPool("double", { replicated: { size: 2 } }), cephPool("triple", { replicated: { size: 3 } })];
  // 600 of raw disk: one pool could hold 300, the other 200.
  const df = cephDf({ double: [0n, 300n * gib], triple: [0n, 200n * gib] });
  const empty = look({ classes, pools, df }).map(inGib);
  assert.deepEqual(
    empty.map(({ allocatable }) => allocatable),
    [150n, 100n],
  );
  // 60 with two copies are 120 of raw disk, which leave 480: 120 and 80 with both pools' copies.
  const volumes = [rbdVolume("a", "beta2", "60Gi", { pool: "double" })];
  const [beta2, beta3] = look({ classes, pools, df, volumes }).map(inGib);
  assert.deepEqual(beta2, { capacity: 300n, allocatable: 180n, allocated: 60n });
  assert.deepEqual(beta3, { capacity: 200n, allocatable: 80n, allocated: 0n });
});

test("pools on disks of different classes have nothing to share, and one on all disks shares with each", () => {
  const classes = ["hdd", "ssd"].map((name) => rbdClass(name, { pool: name }));
  const pools = ["hdd", "ssd"].map((name) => cephPool(name, { replicated: { size: 1 }, deviceClass: name }));
  const df = cephDf({ hdd: [0n, 100n * gib], ssd: [0n, 50n * gib], all: [0n, 150n * gib] });
  const volumes = [rbdVolume("a", "hdd", "40Gi", { pool: "hdd" })];
  const apart = look({ classes, pools, df, volumes });
  assert.deepEqual(
    apart.map(inGib).map(({ allocatable }) => allocatable),
    [100n, 50n],
  );
  assert.deepEqual(
    apart.flatMap(({ conditions }) => conditions),
    [],
  );
  const all = rbdClass("all", { pool: "all" });
  const together = look({ classes: [...classes, all], pools: [...pools, cephPool("all", {})], df, volumes });
  assert.deepEqual(
    together.map(inGib).map(({ allocatable, allocated }) => allocatable - allocated),
    // Of the slow disks 60 are left, which is all that lets a pool on all of them grow: 90 in all.
    [30n, 25n, 30n],
  );
});

test("on full disks nothing is offered by whichever pool", () => {
  const classes = [rbdClass("beta2", { pool: "a" }), rbdClass("beta3", { pool: "b" })];
  const df = cephDf({ a: [10n * gib, 0n], b: [0n, 5n * gib] });
  const seen = look({ classes, df, volumes: [rbdVolume("v", "beta2", "20Gi", { pool: "a" })] });
  assert.deepEqual(
    seen.map(inGib).map(({ allocatable }) => allocatable),
    [10n, 0n],
  );
  assert.deepEqual(
    seen.map(({ conditions }) => conditions.some(({ type }) => type === "Overbooked")),
    [true, false],
  );
});

test("whatever is promised in whichever pool, all offers together fit on the disks", () => {
  const copies = [1n, 2n, 3n];
  const amount = fc.integer({ min: 0, max: 400 }).map(BigInt);
  const perPool = fc.tuple(amount, amount);
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 100 }).map(BigInt),
      fc.array(perPool, { minLength: 3, maxLength: 3 }),
      (room, uses) => {
        const raw = room * 6n;
        const names = copies.map((count) => `copies${count}`);
        const df = cephDf(
          Object.fromEntries(
            uses.map(([stored], n) => [names[n], [stored * gib, (raw / (copies[n] ?? 1n)) * gib]] as const),
          ),
        );
        const classes = names.flatMap((name) => [
          rbdClass(name, { pool: name }),
          rbdClass(`${name}too`, { pool: name }),
        ]);
        const volumes = uses.map(([, size], n) =>
          rbdVolume(`v${n}`, names[n] ?? "", `${size}Gi`, { pool: names[n] ?? "" }),
        );
        const seen = look({ classes, df, volumes });
        const unwritten = uses.reduce(
          (sum, [stored, size], n) => sum + (size > stored ? size - stored : 0n) * (copies[n] ?? 1n),
          0n,
        );
        const offered = seen.reduce((sum, { bytes }, n) => {
          const free = bytes.allocatable - bytes.allocated;
          return sum + (free > 0n ? free : 0n) * (copies[Math.floor(n / 2)] ?? 1n);
        }, 0n);
        assert.ok(
          offered === 0n || offered + unwritten * gib <= raw * gib,
          `${offered / gib} and ${unwritten} of ${raw}`,
        );
        for (const { bytes, conditions } of seen) {
          assert.ok(bytes.allocated >= 0n && bytes.allocatable >= 0n);
          assert.equal(
            bytes.allocated > bytes.allocatable,
            conditions.some(({ type }) => type === "Overbooked") && bytes.allocated > 0n,
          );
        }
      },
    ),
    { numRuns: runs(200, 20_000) },
  );
});

test("replicas and the class of the disks come from the pool, or else from Ceph's only kind of disk", () => {
  const replicated = cephPool("replicapool", { failureDomain: "host", replicated: { size: 3 }, deviceClass: "nvme" });
  const [seen] = look({ df: pool(0n, 1n), pools: [replicated] });
  assert.equal(seen?.replicas, 3);
  assert.equal(seen?.performance, "nvme");
  const [plain] = look({ df: pool(0n, 1n) });
  assert.equal(plain?.replicas, undefined);
  assert.equal(plain?.performance, "ssd");
});

test("the inventory of a class has its capacity and its provisioner", () => {
  const [seen] = look({ df: pool(10n, 90n) });
  assert.deepEqual([inGib(seen!).capacity, seen?.provisioner], [100n, "rook-ceph.rbd.csi.ceph.com"]);
});

test("with erasure coding the data's pool counts, and there are no replicas", () => {
  const ec = rbdClass("beta3", { pool: "replicated-metadata-pool", dataPool: "ec-data-pool" });
  const pools = [
    cephPool("replicated-metadata-pool", { replicated: { size: 2 } }),
    cephPool("ec-data-pool", { erasureCoded: { dataChunks: 2, codingChunks: 1 }, deviceClass: "hdd" }),
  ];
  const df = cephDf({ "replicated-metadata-pool": [1n, 5n * gib], "ec-data-pool": [0n, 60n * gib] });
  const volumes = [rbdVolume("a", "beta3", "10Gi", { pool: "replicated-metadata-pool", dataPool: "ec-data-pool" })];
  const [seen] = look({ classes: [ec], pools, df, volumes });
  assert.deepEqual(inGib(seen!), { capacity: 60n, allocatable: 60n, allocated: 10n });
  assert.equal(seen?.replicas, undefined);
  assert.equal(seen?.performance, "hdd");
});

test("a class of files has the replicas and disks of its filesystem's pool, by the name that Rook gives it", () => {
  const replicated = { replicated: { size: 3 }, deviceClass: "nvme" };
  const coded = { erasureCoded: { dataChunks: 2, codingChunks: 1 }, deviceClass: "hdd" };
  const namesIn = (filesystem: KubeObject) => readCephFilesystem(filesystem).map(({ name }) => name);
  const mixed = cephFilesystem("myfs", [replicated, { ...coded, name: "slow" }, coded]);
  assert.deepEqual(namesIn(mixed), ["myfs-data0", "myfs-slow", "myfs-data2"]);
  const preserved = cephFilesystem("myfs", [{ ...coded, name: "mine" }, coded], { preservePoolNames: true });
  assert.deepEqual(namesIn(preserved), ["mine", "myfs-data1"]);

  const filesystems = [cephFilesystem("myfs", [{ ...replicated, name: "replicated" }, coded])];
  const df = cephDf({ "myfs-replicated": [0n, 30n * gib], "myfs-data1": [0n, 60n * gib] });
  const classes = [cephfsClass("beta3"), cephfsClass("beta1", { pool: "myfs-data1" })];
  const seen = look({ classes, filesystems, df });
  assert.deepEqual(
    seen.map(({ replicas, performance }) => [replicas, performance]),
    [
      [3, "nvme"],
      [undefined, "hdd"],
    ],
  );
  assert.deepEqual(
    seen.map(inGib).map(({ capacity }) => capacity),
    [30n, 60n],
  );
});

test("a cluster is found by its namespace first and then by its name", () => {
  const foreign = cephCluster("rook-ceph", "elsewhere");
  assert.deepEqual(look({ df: pool(0n, 1n), clusters: [foreign, cephCluster("mine")] })[0]?.conditions, []);
  const named = look({
    df: pool(0n, 1n),
    classes: [rbdClass("beta3", { clusterID: "mine" })],
    clusters: [cephCluster("mine")],
  });
  assert.deepEqual(named[0]?.conditions, []);
});

test("what cannot be read is shown with the reason, and nothing of it is sold", () => {
  const error = new ProviderError("AKP_CEPH_UNREADABLE", { namespace: "rook-ceph", reason: "no toolbox" });
  const fs = storageClass("cephfs", "rook-ceph.cephfs.csi.ceph.com", { clusterID: "rook-ceph", fsName: "myfs" });
  const cases: [Scene, RegExp][] = [
    [{ clusters: [] }, /no CephCluster in the namespace rook-ceph/],
    [{}, /was not read yet/],
    [{ reading: { error } }, /no toolbox/],
    [{ df: cephDf({ other: [0n, gib] }) }, /no pool replicapool/],
    [{ classes: [storageClass("beta3", "rook-ceph.rbd.csi.ceph.com")] }, /no parameter clusterID/],
    [{ classes: [fs], df: pool(0n, 1n) }, /no parameter pool/],
  ];
  for (const [scene, message] of cases) {
    const [seen] = look({ volumes: [rbdVolume("a", "beta3", "1Gi")], ...scene });
    assert.equal(seen?.bytes.allocatable, 0n);
    assert.equal(seen?.conditions[0]?.type, "StorageUnreadable");
    assert.match(seen?.conditions[0]?.message ?? "", message);
  }
});

test("the last good answer stays when Ceph is silent, with its time", () => {
  const error = new ProviderError("AKP_CEPH_UNREADABLE", { namespace: "rook-ceph", reason: "no answer" });
  const df = parseCephDf(pool(0n, 10n));
  const [seen] = look({ reading: { df, atMs: Date.UTC(2026, 0, 1), error } });
  assert.equal(inGib(seen!).allocatable, 10n);
  assert.match(seen?.conditions[0]?.message ?? "", /no answer; these numbers are of 2026-01-01T00:00:00.000Z/);
});

test("the room is never more than Ceph says, whatever was stored and promised", () => {
  const amount = fc.integer({ min: 0, max: 1_000 }).map(BigInt);
  const sizes = fc.array(fc.tuple(fc.constantFrom("beta2", "beta3", "gone"), amount), { maxLength: 8 });
  fc.assert(
    fc.property(amount, amount, sizes, (stored, maxAvail, promised) => {
      const volumes = promised.map(([name, size], index) => rbdVolume(`v${index}`, name, `${size}Gi`));
      const classes = [rbdClass("beta2"), rbdClass("beta3")];
      for (const seen of look({ df: pool(stored, maxAvail), classes, volumes })) {
        const { capacity, allocatable, allocated } = inGib(seen);
        assert.ok(allocatable - allocated <= maxAvail);
        assert.ok(allocatable >= 0n && allocatable <= capacity);
        const overbooked = seen.conditions.some(({ type }) => type === "Overbooked");
        assert.equal(allocated > allocatable, overbooked && allocated > 0n);
      }
    }),
    { numRuns: runs(200, 20_000) },
  );
});

test("an invalid answer of ceph df is rejected with the reason", () => {
  const cases: [string, RegExp][] = [
    ["", /not JSON/],
    ["Error initializing cluster client", /not JSON/],
    ['{"pools":[{"name":"a"', /not JSON/],
    ["null", /no answer of ceph df/],
    ["[]", /no answer of ceph df/],
    ['{"stats":{}}', /pools/],
    ['{"pools":{}}', /pools/],
    ['{"pools":[{"name":7,"stats":{}}]}', /pools\.0\.name/],
  ];
  for (const [text, reason] of cases) assert.throws(() => parseCephDf(text), reason, text);
});

test("a pool without sound numbers is left out, and the others are read", () => {
  const stats = [{}, { stored: -1, max_avail: 1 }, { stored: 1.5, max_avail: 1 }, { stored: 1, max_avail: 1e20 }];
  const pools = stats.map((each, index) => ({ name: `bad${index}`, stats: each }));
  const good = { name: "good", stats: { stored: 1, max_avail: 2 } };
  const { pools: read, deviceClasses } = parseCephDf(JSON.stringify({ pools: [...pools, good] }));
  assert.deepEqual([...read], [["good", { storedBytes: 1n, maxAvailBytes: 2n }]]);
  assert.deepEqual(deviceClasses, []);
});
