import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { memoryFolder } from "../../../../test/support/folder.ts";
import { gi, gpuCount, sampleUnit, volume } from "../../../../test/support/samples/placement-samples.ts";
import {
  bidOf,
  createWorld,
  groupOf,
  leaseClaim,
  leaseOf,
  leasePod,
  openBid,
  openStage,
  orderKey,
  type Stage,
  snapshotNode,
  type World,
} from "../../../../test/support/stages/reservation-stage.ts";
import { writeUnitResources } from "../../../chain/codec/group-spec.ts";
import { formatBidId } from "../../../market/ids.ts";
import { condition } from "../../../runtime/condition.ts";
import { addressesPollMs } from "../addresses/address-pool.ts";
import { reservationLongBoundMs } from "../capacity-keeper.ts";
import { feedOldMs } from "../inventory/feed.ts";
import { reservationSettleMs } from "./accounting.ts";
import { reservationMoves, reservationRecheckMs } from "./upkeep.ts";

async function stageOf(t: TestContext, world: World = createWorld()): Promise<Stage & { readonly world: World }> {
  const stage = await openStage(world, { dir: memoryFolder(t) });
  t.after(() => stage.stop());
  return { ...stage, world };
}

/** What the order would be offered, taken. */
function reserve({ capacity }: Stage, orderId: string, ...units: ReturnType<typeof sampleUnit>[]) {
  const group = groupOf(...units);
  const fit = capacity.fit(group);
  return fit.fits ? capacity.reserve({ orderId, group, offer: fit.offer, expiresAtMs: Number.MAX_SAFE_INTEGER }) : fit;
}

const order = orderKey(1);

test("what is reserved is not free, and what is released is free again at once", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")] });
  assert.equal(stage.freeCpu(), 16_000n);
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 3_000n, count: 2 })).fits);
  assert.equal(stage.freeCpu(), 10_000n);
  const released = stage.capacity.release(order, "lost");
  assert.equal(stage.freeCpu(), 16_000n);
  await released;
  await stage.capacity.release(order, "again");
  assert.equal(stage.freeCpu(), 16_000n);
});

test("of two orders for the last gpu one gets it", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a", { gpuCounts: [gpuCount("h100", 1n)] })] });
  const unit = sampleUnit({ gpus: 1n, models: ["nvidia/model/*"] });
  const group = groupOf(unit);
  const [one, other] = [stage.capacity.fit(group), stage.capacity.fit(group)];
  assert.ok(one.fits && other.fits);
  const take = (orderId: string) => stage.capacity.reserve({ orderId, group, offer: one.offer, expiresAtMs: 1 }).fits;
  assert.deepEqual([take(orderKey(1)), take(orderKey(2))], [true, false]);
});

/** One unit of one replica with 3 cpus, reserved and leased. */
async function leased(t: TestContext) {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "10" });
  const reserved = reserve(stage, order, sampleUnit({ cpuMilli: 3_000n }));
  assert.ok(reserved.fits);
  const [{ node } = { node: "" }] = reserved.replicas;
  await stage.journal.durable("bid", reserved.write);
  stage.world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  const other = node === "a" ? "b" : "a";
  return { ...stage, node, other };
}

const threeCpus = { cpuMilli: 3_000n, memoryBytes: gi };

test("pod seen before the snapshot that counts it → counted once", async (t) => {
  const stage = await leased(t);
  const free = stage.freeCpu();
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "11" }));
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.node }));
  assert.equal(stage.freeCpu(), free);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "11" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 1], "a snapshot from before it was bound");
  stage.show({ nodes: [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)], podsVersion: "12" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
});

test("snapshot that counts a pod comes before the pod is seen → counted once", async (t) => {
  const stage = await leased(t);
  const free = stage.freeCpu();
  stage.show({ nodes: [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)], podsVersion: "15" });
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.node }));
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
});

test("snapshot older than the last one → counts nothing that was bound since", async (t) => {
  const stage = await leased(t);
  const free = stage.freeCpu();
  const older = { nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "11" };
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.node }));
  stage.show({ nodes: [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)], podsVersion: "12" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
  stage.show(older);
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 1]);
  stage.show({ nodes: [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)], podsVersion: "13" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
});

test("operator without versions → a snapshot current long enough after the binding counts it", async (t) => {
  const stage = await leased(t);
  const { clock } = stage.world;
  const free = stage.freeCpu();
  const nodes = [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)];
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.node }));
  await clock.advance(reservationSettleMs - 1);
  stage.show({ nodes });
  assert.equal(stage.keeper.book.awaited, 1, "too early to be sure");
  await clock.advance(1);
  stage.show({ nodes });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
});

test("a pod that Kubernetes put elsewhere frees the node that was meant for it, at once", async (t) => {
  const stage = await leased(t);
  const freeOf = (name: string) => stage.keeper.book.room.node(name)?.free[0];
  assert.deepEqual([freeOf(stage.node), freeOf(stage.other)], [5_000n, 8_000n]);
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.other }));
  assert.deepEqual([freeOf(stage.node), freeOf(stage.other)], [8_000n, 5_000n]);
});

test("a pod on its way out makes its replica reserved again, and its successor takes over", async (t) => {
  const stage = await leased(t);
  const { node, other } = stage;
  const free = stage.freeCpu();
  const running = [snapshotNode(node, {}, threeCpus), snapshotNode(other)];
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node }));
  stage.show({ nodes: running, podsVersion: "12" });
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "13", node, leaving: true }));
  assert.equal(stage.freeCpu(), free - 3_000n, "it still holds what it has, and the next needs room beside it");
  stage.pod("next", leasePod(order, "next", { cpu: "3", version: "14", node: other }));
  stage.pod("web", undefined);
  stage.show({ nodes: [snapshotNode(node), snapshotNode(other, {}, threeCpus)], podsVersion: "15" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
  for (const gone of [undefined, leasePod(order, "next", { cpu: "3", version: "16", node: other, phase: "Failed" })]) {
    stage.pod("next", gone);
    stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "17" });
    assert.equal(stage.freeCpu(), free, "reserved for as long as the lease lives");
  }
});

test("a pod beyond the replicas takes the place of one that goes", async (t) => {
  const stage = await leased(t);
  const { node, other } = stage;
  const free = stage.freeCpu();
  stage.pod("old", leasePod(order, "old", { cpu: "3", version: "12", node }));
  stage.pod("new", leasePod(order, "new", { cpu: "3", version: "13", node: other }));
  stage.pod("old", undefined);
  stage.show({ nodes: [snapshotNode(node), snapshotNode(other, {}, threeCpus)], podsVersion: "20" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
});

test("a pod matches the replica with the same requests, else one that it covers, else the smallest", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a")], podsVersion: "1" });
  reserve(stage, order, sampleUnit({ id: 1, cpuMilli: 1_000n }), sampleUnit({ id: 2, cpuMilli: 4_000n }));
  const standing = () =>
    stage.keeper.book.get(order)?.replicas.map(({ onNode }) => onNode.carrier?.uid.replace("uid-", ""));
  stage.pod("small", leasePod(order, "small", { cpu: "1", node: "a", version: "2" }));
  assert.deepEqual(standing(), ["small", undefined]);
  stage.pod("small", undefined);
  stage.pod("odd", leasePod(order, "odd", { cpu: "700m", node: "a", version: "3" }));
  assert.deepEqual(standing(), ["odd", undefined]);
  stage.pod("elsewhere", leasePod(orderKey(2), "elsewhere", { cpu: "1", node: "a", version: "4" }));
  assert.deepEqual(standing(), ["odd", undefined], "of no lease of ours");
  stage.pod("odd", undefined);
  // As with something beside the tenant's container.
  stage.pod("large", leasePod(order, "large", { cpu: "4100m", node: "a", version: "5" }));
  assert.deepEqual(standing(), [undefined, "large"]);
});

test("a pod that stood for a replica of another unit goes back to its own as soon as that is free", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a")], podsVersion: "1" });
  reserve(stage, order, sampleUnit({ id: 1, cpuMilli: 1_000n }), sampleUnit({ id: 2, cpuMilli: 3_000n }));
  const page = (name: string, version: string) => leasePod(order, name, { cpu: "1", node: "a", version });
  stage.pod("page-1", page("page-1", "2"));
  stage.show({ nodes: [snapshotNode("a", {}, { cpuMilli: 1_000n })], podsVersion: "2" });
  assert.equal(stage.freeCpu(), 4_000n);
  // A replica shifts to another service: for a moment there is one more than promised, while the other unit has none.
  stage.pod("api-1", page("api-1", "3"));
  stage.pod("page-1", undefined);
  stage.show({ nodes: [snapshotNode("a", {}, { cpuMilli: 1_000n })], podsVersion: "4" });
  assert.equal(stage.freeCpu(), 4_000n);
});

test("pod with larger requests than its unit → releases no larger replica than it takes", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a")], podsVersion: "1" });
  reserve(stage, order, sampleUnit({ id: 1, cpuMilli: 1_000n }), sampleUnit({ id: 2, cpuMilli: 6_000n }));
  stage.pod("small", leasePod(order, "small", { cpu: "1100m", node: "a", version: "2" }));
  stage.show({ nodes: [snapshotNode("a", {}, { cpuMilli: 1_100n })], podsVersion: "2" });
  assert.equal(stage.freeCpu(), 8_000n - 1_100n - 6_000n);
});

test("of two replicas that ask for the same cpu and memory, the one with volumes keeps them until its own pod comes", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const storage = [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated: 0n } }];
  stage.show({ nodes: [snapshotNode("a", size)], storage, podsVersion: "1" });
  reserve(stage, order, sampleUnit({ id: 1, volumes: [volume("beta3", 60n * gi)] }), sampleUnit({ id: 2 }));
  stage.pod("web", leasePod(order, "web", { cpu: "1", node: "a", version: "2" }));
  stage.show({ nodes: [snapshotNode("a", size, { cpuMilli: 1_000n })], storage, podsVersion: "2" });
  assert.equal(stage.keeper.book.room.classes.get("beta3"), 40n * gi);
});

test("a replica that comes again takes up its volume, and not those that another replica still has to get", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const snapshot = (allocated: bigint, podsVersion: string) => {
    const storage = [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated } }];
    stage.show({
      nodes: [snapshotNode("a", size), snapshotNode("b", size)],
      storage,
      podsVersion,
      volumesVersion: podsVersion,
    });
  };
  const db = (node: string, version: string) =>
    leasePod(order, `db-${version}`, { cpu: "5", volumes: 1, node, version });
  snapshot(0n, "1");
  reserve(stage, order, sampleUnit({ count: 2, cpuMilli: 5_000n, volumes: [volume("beta3", 10n * gi)] }));
  stage.claim("data-0", leaseClaim(order, "data-0", "10Gi", "2"));
  stage.pod("db-2", db("a", "2"));
  snapshot(10n * gi, "2");
  stage.pod("db-2", undefined);
  stage.pod("db-3", db("b", "3"));
  snapshot(10n * gi, "3");
  assert.equal(stage.keeper.book.room.classes.get("beta3"), 80n * gi);
});

test("pod deleted → its volumes stay counted", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const storage = (allocated: bigint) => [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated } }];
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(0n), podsVersion: "1", volumesVersion: "1" });
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 3_000n, volumes: [volume("beta3", 30n * gi)] })).fits);
  const free = () => [stage.freeCpu(), (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi];
  assert.deepEqual(free(), [5_000n, 70n]);
  stage.claim("data-0", leaseClaim(order, "data-0", "30Gi", "2"));
  stage.pod("db-0", leasePod(order, "db-0", { cpu: "3", version: "2", node: "a" }));
  assert.deepEqual(free(), [5_000n, 70n]);
  stage.show({
    nodes: [snapshotNode("a", size, threeCpus)],
    storage: storage(30n * gi),
    podsVersion: "2",
    volumesVersion: "2",
  });
  assert.deepEqual(free(), [5_000n, 70n]);
  stage.pod("db-0", undefined);
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(30n * gi), podsVersion: "3", volumesVersion: "3" });
  assert.deepEqual(free(), [5_000n, 70n]);
});

test("spare volumes → counted by the snapshot alone, with a condition; claim deleted → promised again", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const show = (allocated: bigint, podsVersion: string) => {
    const storage = [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated: allocated * gi } }];
    stage.show({ nodes: [snapshotNode("a", size)], storage, podsVersion, volumesVersion: podsVersion });
  };
  const free = () => (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi;
  show(0n, "1");
  reserve(stage, order, sampleUnit({ volumes: [volume("beta3", 30n * gi)] }));
  stage.claim("data-store-0", leaseClaim(order, "data-store-0", "30Gi", "2"));
  show(30n, "2");
  // The replica has moved to another service, which has a volume of its own.
  stage.claim("data-cache-0", leaseClaim(order, "data-cache-0", "30Gi", "3"));
  show(60n, "3");
  assert.equal(free(), 40n);
  const [spare, ...more] = stage.status().conditions;
  assert.deepEqual([spare?.type, more], ["SpareVolumes", []]);
  assert.match(spare?.message ?? "", /has 32212254720 bytes of storage class beta3 beyond its lease/);
  for (const name of ["data-store-0", "data-cache-0"]) stage.claim(name, undefined);
  show(0n, "4");
  assert.equal(free(), 70n);
  assert.deepEqual(stage.status().conditions, []);
});

test("lease closed → a volume that no snapshot counts yet keeps its room until one does", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const storage = (allocated: bigint) => [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated } }];
  const free = () => (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi;
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(0n), podsVersion: "1", volumesVersion: "1" });
  reserve(stage, order, sampleUnit({ volumes: [volume("beta3", 30n * gi)] }));
  stage.claim("data-0", leaseClaim(order, "data-0", "30Gi", "2"));
  await stage.capacity.release(order, "the lease is closed");
  assert.equal(free(), 70n);
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(30n * gi), podsVersion: "2", volumesVersion: "2" });
  assert.equal(free(), 70n);
  stage.claim("data-0", undefined);
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(0n), podsVersion: "3", volumesVersion: "3" });
  assert.equal(free(), 100n);
});

function freeGi({ keeper }: Stage, storageClass: string): bigint {
  const { room } = keeper.book;
  return (room.classes.get(room.classOf(storageClass)) ?? 0n) / gi;
}

/** One node that mounts the classes "beta3" and "default", each with 100Gi. */
function storageSnapshot(allocatedGi: Readonly<Record<string, bigint>> = {}) {
  const storage = ["beta3", "default"].map((name) => {
    return { class: name, bytes: { allocatable: 100n * gi, allocated: (allocatedGi[name] ?? 0n) * gi } };
  });
  return { nodes: [snapshotNode("a", { storageClasses: ["beta3", "default"] })], storage };
}

test("a volume is held until the snapshot's volumes are as new as its claim, however new its pods are", async (t) => {
  const stage = await stageOf(t);
  const free = () => (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi;
  stage.show({ ...storageSnapshot(), podsVersion: "1", volumesVersion: "1" });
  reserve(stage, order, sampleUnit({ volumes: [volume("beta3", 60n * gi)] }));
  stage.claim("data-0", leaseClaim(order, "data-0", "60Gi", "5"));
  // The watch of persistent volumes lags behind that of pods.
  stage.show({ ...storageSnapshot(), podsVersion: "6", volumesVersion: "4" });
  assert.equal(free(), 40n);
  assert.equal(reserve(stage, orderKey(2), sampleUnit({ volumes: [volume("beta3", 60n * gi)] })).fits, false);
  stage.show({ ...storageSnapshot(), podsVersion: "7" });
  assert.equal(free(), 40n, "a source that reports no version of its volumes");
  stage.show({ ...storageSnapshot({ beta3: 60n }), podsVersion: "7", volumesVersion: "5" });
  assert.equal(free(), 40n);
  // Another replica of the operator knows less.
  stage.show({ ...storageSnapshot(), podsVersion: "8", volumesVersion: "4" });
  assert.equal(free(), 40n);
});

test("a volume is held for as long as the watch of volumes is silent, and counted by the snapshot some time after", async (t) => {
  const stage = await stageOf(t);
  const { clock } = stage.world;
  const free = () => (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi;
  stage.show({ ...storageSnapshot(), podsVersion: "1", volumesVersion: "1" });
  reserve(stage, order, sampleUnit({ volumes: [volume("beta3", 60n * gi)] }));
  stage.claim("data-0", leaseClaim(order, "data-0", "60Gi", "5"));
  stage.world.volumesSilentSinceMs = clock.monotonicMs();
  for (let round = 0; round < 4; round += 1) {
    await clock.advance(reservationSettleMs);
    stage.show({ ...storageSnapshot(), podsVersion: "9", volumesVersion: "4" });
    assert.equal(free(), 40n);
  }
  stage.world.volumesSilentSinceMs = undefined;
  stage.show({ ...storageSnapshot({ beta3: 60n }), podsVersion: "9", volumesVersion: "4" });
  assert.equal(free(), 40n);
});

test("volumes of the class default are those of the cluster's default class", async (t) => {
  const stage = await stageOf(t);
  const free = () => freeGi(stage, "default");
  const defaultClass = "beta3";
  stage.show({ ...storageSnapshot(), defaultClass, volumesVersion: "1" });
  reserve(
    stage,
    order,
    sampleUnit({ volumes: [volume("beta3", 30n * gi), { ...volume("default", 50n * gi), name: "d" }] }),
  );
  assert.deepEqual([free(), freeGi(stage, "beta3")], [20n, 20n]);
  const more = (name: string) => reserve(stage, orderKey(2), sampleUnit({ volumes: [volume(name, 30n * gi)] }));
  for (const name of ["beta3", "default"]) {
    const found = more(name);
    assert.match(found.fits ? "" : found.reason, /30Gi of storage-beta3 is wanted, 20Gi is free of it/, name);
  }
  const both = [volume("beta3", 15n * gi), { ...volume("default", 15n * gi), name: "d" }];
  assert.equal(reserve(stage, orderKey(2), sampleUnit({ volumes: both })).fits, false, "15Gi of each");
  stage.claim("data-0", leaseClaim(order, "data-0", "30Gi", "2"));
  stage.claim("d-0", leaseClaim(order, "d-0", "50Gi", "2"));
  stage.show({ ...storageSnapshot({ beta3: 80n }), defaultClass, volumesVersion: "3" });
  assert.equal(free(), 20n);
  assert.deepEqual(stage.status().conditions, []);
  const sums = stage.status().resources.filter(({ resource }) => /^storage-(?!eph)/.test(`${resource}`));
  assert.deepEqual(
    sums.map(({ resource, allocatable, reserved, free }) => [resource, allocatable, reserved, free]),
    [["storage-beta3", "100Gi", "0", "20Gi"]],
  );
});

test("claims of a lease count against both the class they name and default, where the default class is not reported", async (t) => {
  const stage = await stageOf(t);
  const free = () => ["beta3", "default"].map((name) => freeGi(stage, name));
  stage.show({ ...storageSnapshot(), volumesVersion: "1" });
  reserve(
    stage,
    order,
    sampleUnit({ volumes: [volume("beta3", 30n * gi), { ...volume("default", 20n * gi), name: "d" }] }),
  );
  assert.deepEqual(free(), [70n, 80n]);
  stage.claim("data-0", leaseClaim(order, "data-0", "30Gi", "2"));
  stage.claim("d-0", leaseClaim(order, "d-0", "20Gi", "2"));
  assert.deepEqual(free(), [70n, 80n]);
  stage.show({ ...storageSnapshot({ beta3: 50n }), volumesVersion: "3" });
  assert.deepEqual(free(), [50n, 100n]);
  assert.deepEqual(stage.status().conditions, []);
});

test("snapshot with fewer nodes → reservations move, or stay with a condition", async (t) => {
  const stage = await stageOf(t);
  const { capacity } = stage;
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")] });
  assert.ok(reserve(stage, orderKey(1), sampleUnit({ cpuMilli: 5_000n })).fits);
  assert.ok(reserve(stage, orderKey(2), sampleUnit({ cpuMilli: 5_000n })).fits);
  stage.show({ nodes: [snapshotNode("c")] });
  await stage.world.clock.settle();
  assert.equal(stage.freeCpu(), 3_000n, "one of them");
  assert.equal([...capacity.reserved()].length, 2);
  const { conditions = [] } = stage.status();
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ["Unplaced"],
  );
  assert.match(conditions[0]?.message ?? "", /has no node: it was to be on [ab], which is not in the inventory/);
  stage.show({ nodes: [] });
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b"), snapshotNode("c")] });
  assert.equal(stage.freeCpu(), 14_000n);
  assert.deepEqual(stage.status().conditions, []);
  await stage.world.clock.advance(1_000);
  const [row] = stage.journal.read.reservations.all();
  assert.match(JSON.stringify(row?.body), /"node":"c"/, "a new place is written down");
});

test("however many promises a node leaves behind, all that fit elsewhere move at once, also behind many that do not", async (t) => {
  const stage = await stageOf(t);
  const many = reservationMoves + 20;
  const large = { cpuMilli: BigInt(many) * 9_000n, memoryBytes: 1_000n * gi, ephemeralBytes: 1_000n * gi };
  stage.show({ nodes: [snapshotNode("a", large)] });
  reserve(stage, orderKey(1), sampleUnit({ cpuMilli: 8_000n, count: many }));
  reserve(stage, orderKey(2), sampleUnit({ cpuMilli: 100n, count: many }));
  stage.show({
    nodes: [snapshotNode("b", { ...large, cpuMilli: 7_000n }), snapshotNode("c", { ...large, cpuMilli: 7_000n })],
  });
  await stage.world.clock.advance(1);
  assert.equal(stage.freeCpu(), 14_000n - 100n * BigInt(many));
});

test("room released → goes to a displaced replica before listeners are notified", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")] });
  reserve(stage, orderKey(1), sampleUnit({ cpuMilli: 5_000n }));
  reserve(stage, orderKey(2), sampleUnit({ cpuMilli: 5_000n }));
  const [home] = [...stage.keeper.book.held].map(({ claim }) => claim.node);
  stage.show({ nodes: ["a", "b"].filter((name) => name !== home).map((name) => snapshotNode(name)) });
  assert.deepEqual([stage.freeCpu(), stage.status().conditions.length], [3_000n, 1]);
  let free: bigint | undefined;
  stage.capacity.onRoom(() => {
    free = stage.freeCpu();
  });
  await stage.capacity.release(orderKey(2), "lost");
  assert.deepEqual([free, stage.status().conditions], [3_000n, []]);
});

test("a promise with volumes moves although its class has nothing left beside them, or less than nothing", async (t) => {
  const stage = await stageOf(t);
  const size = { storageClasses: ["beta3"] };
  const storage = (bytes: bigint) => [{ class: "beta3", bytes: { allocatable: bytes, allocated: 0n } }];
  stage.show({ nodes: [snapshotNode("a", size)], storage: storage(10n * gi) });
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 3_000n, volumes: [volume("beta3", 10n * gi)] })).fits);
  stage.show({ nodes: [snapshotNode("b", size), snapshotNode("c")], storage: storage(10n * gi) });
  assert.equal(stage.keeper.book.room.node("b")?.free[0], 5_000n);
  stage.show({ nodes: [snapshotNode("c"), snapshotNode("d", size)], storage: storage(9n * gi) });
  assert.equal(stage.keeper.book.room.node("d")?.free[0], 5_000n);
});

test("what others took of a node is made up for on another, and else it is a condition with the figures", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")] });
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 6_000n })).fits);
  const [replica] = stage.keeper.book.get(order)?.replicas ?? [];
  const node = replica?.onNode.claim.node ?? "";
  const other = node === "a" ? "b" : "a";
  const full = { cpuMilli: 4_000n };
  stage.show({ nodes: [snapshotNode(node, {}, full), snapshotNode(other)] });
  assert.equal(replica?.onNode.claim.node, other);
  assert.equal(stage.freeCpu(), 4_000n + 2_000n);
  stage.show({ nodes: [snapshotNode("a", {}, full), snapshotNode("b", {}, full)] });
  assert.deepEqual(stage.status().conditions, [
    condition("Overbooked", `node ${other} is promised more than it has: 2000 of cpu`, { subject: `node ${other}` }),
  ]);
  assert.equal(stage.freeCpu(), 4_000n, "never less than nothing");
  assert.equal(stage.status().resources.find(({ resource }) => resource === "cpu")?.["free"], "4");
});

test("reserving an order again takes nothing more, and with another offer takes that instead", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a")] });
  for (const cpuMilli of [3_000n, 3_000n, 5_000n]) {
    assert.ok(reserve(stage, order, sampleUnit({ cpuMilli })).fits);
    assert.equal(stage.freeCpu(), 8_000n - cpuMilli);
  }
  assert.equal(reserve(stage, order, sampleUnit({ cpuMilli: 9_000n })).fits, false);
  assert.equal(stage.freeCpu(), 3_000n, "what it had it keeps");
});

test("inventory error → nothing is reserved", async (t) => {
  const stage = await stageOf(t);
  const group = groupOf(sampleUnit());
  const none = stage.capacity.fit(group);
  assert.ok(!none.fits && none.reason === "no inventory snapshot has come yet");
  stage.show({ nodes: [snapshotNode("a")] });
  const fit = stage.capacity.fit(group);
  assert.ok(fit.fits);
  stage.world.error = "the inventory has been silent for 121 s";
  const rejected = stage.capacity.reserve({ orderId: order, group, offer: fit.offer, expiresAtMs: 1 });
  assert.ok(!rejected.fits && rejected.reason === stage.world.error);
  stage.world.error = undefined;
  stage.world.podsAgeMs = feedOldMs + 1;
  const blind = stage.capacity.fit(group);
  assert.ok(!blind.fits && /^the pods of our leases have not been heard of for 120 s/.test(blind.reason));
});

const soonMs = 60_000;

/** Reserved for a minute, and in the journal. */
async function reserved(t: TestContext, world = createWorld()) {
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a")] });
  const group = groupOf(sampleUnit({ cpuMilli: 3_000n }));
  const fit = stage.capacity.fit(group);
  assert.ok(fit.fits);
  const expiresAtMs = world.clock.now() + soonMs;
  const taken = stage.capacity.reserve({ orderId: order, group, offer: fit.offer, expiresAtMs });
  assert.ok(taken.fits);
  await stage.journal.durable("bid", taken.write);
  const expired: string[] = [];
  stage.capacity.onExpired((orderId) => expired.push(orderId));
  return { ...stage, expired };
}

test("a reservation with neither bid nor intent nor lease behind it goes when its time is over", async (t) => {
  const stage = await reserved(t);
  await stage.world.clock.advance(soonMs - 1);
  assert.deepEqual([stage.expired, stage.freeCpu()], [[], 5_000n]);
  await stage.world.clock.advance(1);
  assert.deepEqual([stage.expired, stage.freeCpu()], [[order], 8_000n]);
  assert.deepEqual(stage.journal.read.reservations.all(), []);
});

test("a reservation outlives its time while a bid of ours is open, and goes when that is gone", async (t) => {
  const stage = await reserved(t);
  const key = formatBidId(bidOf(order));
  stage.world.bids.set(key, openBid(order));
  await stage.world.clock.advance(10 * soonMs);
  assert.ok(stage.expired.length > 2 && stage.expired.length < 20, `${stage.expired.length} times`);
  assert.equal(stage.freeCpu(), 5_000n);
  stage.world.bids.set(key, openBid(order, "lost"));
  await stage.world.clock.advance(2 * reservationRecheckMs);
  assert.equal(stage.freeCpu(), 8_000n);
});

test("a reservation outlives its time while an intent about its order is not settled", async (t) => {
  const stage = await reserved(t);
  const intent = { what: "createBid", subject: order, why: "", body: {}, priority: 1 };
  const id = await stage.journal.durable("intent", ({ intents }) => intents.file(intent));
  await stage.world.clock.advance(10 * soonMs);
  assert.equal(stage.freeCpu(), 5_000n);
  await stage.journal.durable("settle", ({ intents }) => intents.settle(id, "failed"));
  await stage.world.clock.advance(2 * reservationRecheckMs);
  assert.equal(stage.freeCpu(), 8_000n);
});

test("a reservation is given back when its lease is closed on chain, and not before", async (t) => {
  const stage = await reserved(t);
  const key = formatBidId(bidOf(order));
  for (const state of ["active", "reclaiming"] as const) {
    stage.world.leases.set(key, leaseOf(order, state));
    await stage.step({ kind: "lease", key });
    await stage.world.clock.advance(10 * soonMs);
    assert.equal(stage.freeCpu(), 5_000n, state);
  }
  stage.world.leases.set(key, leaseOf(order, "closed"));
  await stage.step({ kind: "lease", key });
  assert.equal(stage.freeCpu(), 8_000n);
  assert.deepEqual(stage.journal.read.reservations.all(), []);
});

test("lease closed → a pod that no snapshot counts yet keeps its room until one does", async (t) => {
  const stage = await leased(t);
  const free = stage.freeCpu();
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "12", node: stage.node }));
  const key = formatBidId(bidOf(order));
  stage.world.leases.set(key, leaseOf(order, "closed"));
  await stage.step({ kind: "lease", key });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.size], [free, 0]);
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "13", node: stage.node, leaving: true }));
  assert.equal(stage.freeCpu(), free);
  stage.show({ nodes: [snapshotNode(stage.node, {}, threeCpus), snapshotNode(stage.other)], podsVersion: "13" });
  assert.deepEqual([stage.freeCpu(), stage.keeper.book.awaited], [free, 0]);
  stage.pod("web", undefined);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "14" });
  assert.equal(stage.freeCpu(), 16_000n);
});

test("a restart finds what was reserved, where it was and what of it runs", async (t) => {
  const world = createWorld();
  const dir = memoryFolder(t);
  const first = await openStage(world, { dir });
  const size = { gpuCounts: [gpuCount("h100", 2n), gpuCount("a100", 2n)], storageClasses: ["beta3"] };
  const taken = { cpuMilli: 1_000n, memoryBytes: gi, gpus: 1n };
  const storage = [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated: 0n } }];
  first.show({ nodes: [snapshotNode("a", size), snapshotNode("b", size)], storage, podsVersion: "1" });
  const unit = sampleUnit({ count: 3, gpus: 1n, models: ["nvidia/model/h100"], volumes: [volume("beta3", 10n * gi)] });
  const reservedNow = reserve(first, order, unit);
  assert.ok(reservedNow.fits);
  await first.journal.durable("bid", reservedNow.write);
  const key = formatBidId(bidOf(order));
  world.leases.set(key, leaseOf(order));
  first.pod("web", leasePod(order, "web", { cpu: "1", gpus: 1, version: "2", node: "a" }));
  first.show({ nodes: [snapshotNode("a", size, taken), snapshotNode("b", size)], storage, podsVersion: "2" });
  const before = first.status();
  await first.stop();
  const again = await openStage(world, { dir });
  t.after(() => again.stop());
  assert.deepEqual({ ...again.status(), ageMs: 0 }, { ...before, ageMs: 0 });
});

test("after a restart long-running pods are counted once, also with an operator that does not report resource versions", async (t) => {
  const world = createWorld();
  const dir = memoryFolder(t);
  const first = await openStage(world, { dir });
  first.show({ nodes: [snapshotNode("a")] });
  const taken = reserve(first, order, sampleUnit({ cpuMilli: 3_000n }));
  assert.ok(taken.fits);
  await first.journal.durable("bid", taken.write);
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  const boundAt = new Date(world.clock.now()).toISOString();
  first.pod("web", leasePod(order, "web", { cpu: "3", version: "2", node: "a", boundAt }));
  await first.stop();
  for (const [agoMs, free] of [
    [reservationLongBoundMs / 2, 2_000n],
    [reservationLongBoundMs, 5_000n],
  ] as const) {
    await world.clock.advance(agoMs);
    world.snapshot = undefined;
    const again = await openStage(world, { dir });
    again.show({ nodes: [snapshotNode("a", {}, threeCpus)] });
    assert.equal(again.freeCpu(), free);
    await again.stop();
  }
});

test("what is bound now is not taken for long counted by a machine whose time of day is hours ahead of the cluster's", async (t) => {
  const world = createWorld();
  const stage = await openStage(world, { dir: memoryFolder(t) });
  t.after(() => stage.stop());
  stage.show({ nodes: [snapshotNode("a")] });
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 3_000n })).fits);
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  const boundAt = new Date(world.clock.now()).toISOString();
  world.clock.jump(3 * 3_600_000);
  stage.pod("web", leasePod(order, "web", { cpu: "3", version: "2", node: "a", boundAt }));
  assert.equal(stage.freeCpu(), 5_000n, "the snapshot is from before");
});

test("pod bound just before a restart → counted once, when the snapshot has been current for long enough", async (t) => {
  const world = createWorld();
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  const { owner, dseq, gseq } = bidOf(order);
  const groups = [{ id: { owner, dseq, gseq }, spec: groupOf(sampleUnit({ cpuMilli: 3_000n })) }];
  world.deployments.set(`${owner}/${dseq}`, { groups } as never);
  // Its status has changed since it was bound, which no snapshot shows.
  world.pods.set("web", leasePod(order, "web", { cpu: "3", version: "9", node: "a" }));
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a", {}, threeCpus)], podsVersion: "2" });
  assert.equal(stage.freeCpu(), 2_000n);
  await world.clock.advance(reservationSettleMs - 1);
  world.trueAtMs = world.clock.monotonicMs() + 1;
  assert.equal(stage.freeCpu(), 2_000n);
  await world.clock.advance(1);
  assert.equal(stage.freeCpu(), 5_000n);
});

test("pod leaves a node that is not for sale → its replica moves at once, before the next snapshot", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a"), snapshotNode("b")], podsVersion: "1" });
  reserve(stage, order, sampleUnit({ cpuMilli: 3_000n }));
  const running = { cpu: "3", version: "2", node: "a" };
  stage.pod("web", leasePod(order, "web", running));
  // Cordoned, and then drained.
  stage.show({ nodes: [snapshotNode("b")], podsVersion: "2" });
  assert.equal(stage.freeCpu(), 8_000n);
  stage.pod("web", leasePod(order, "web", { ...running, version: "3", leaving: true }));
  assert.equal(stage.freeCpu(), 5_000n);
  assert.deepEqual(stage.status().conditions, []);
});

test("what the journal has lost is made again from the chain, with what of it runs", async (t) => {
  const world = createWorld();
  const unit = sampleUnit({ cpuMilli: 3_000n, count: 2 });
  const key = formatBidId(bidOf(order));
  const { owner, dseq, gseq } = bidOf(order);
  world.leases.set(key, leaseOf(order));
  const groups = [{ id: { owner, dseq, gseq }, state: "open", spec: groupOf(unit), createdAt: 1n }] as const;
  world.deployments.set(`${owner}/${dseq}`, { groups } as never);
  world.pods.set("web", leasePod(order, "web", { cpu: "3", version: "2", node: "a" }));
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a", {}, threeCpus), snapshotNode("b")], podsVersion: "2" });
  await world.clock.advance(1_000);
  assert.equal(stage.freeCpu(), 16_000n - 6_000n);
  assert.deepEqual(stage.status().conditions, []);
  assert.equal(stage.journal.read.reservations.all().length, 1);
});

/** What the chain has of our bid on the order. */
function offerOf(unit: ReturnType<typeof sampleUnit>) {
  return [ResourceOffer.fromPartial({ resources: writeUnitResources(unit), count: unit.count })];
}

test("a bid that the journal forgot, or whose row makes no sense, has its capacity again after a start", async (t) => {
  const world = createWorld();
  const unit = sampleUnit({ cpuMilli: 2_000n, count: 2, gpus: 1n, models: ["nvidia/model/h100"] });
  const nodes = [snapshotNode("a", { gpuCounts: [gpuCount("h100", 4n)] })];
  for (const dseq of [1, 2]) {
    world.bids.set(formatBidId(bidOf(orderKey(dseq))), openBid(orderKey(dseq), "open", offerOf(unit)));
  }
  const dir = memoryFolder(t);
  const first = await openStage(world, { dir });
  await first.capacity.release(orderKey(1), "");
  await first.capacity.release(orderKey(2), "");
  await first.journal.durable("odd", ({ reservations }) =>
    reservations.put({ orderId: orderKey(1), body: { version: 7 } }),
  );
  await first.stop();
  const stage = await openStage(world, { dir });
  t.after(() => stage.stop());
  stage.show({ nodes });
  assert.deepEqual([stage.freeCpu(), stage.free(3)], [0n, 0n]);
  assert.deepEqual([...stage.capacity.reserved()].sort(), [orderKey(1), orderKey(2)]);
  world.bids.set(formatBidId(bidOf(orderKey(2))), openBid(orderKey(2), "lost"));
  await world.clock.advance(2 * reservationRecheckMs);
  assert.deepEqual([...stage.capacity.reserved()], [orderKey(1)]);
});

test("a bid that is being closed gets no capacity again", async (t) => {
  const world = createWorld();
  world.bids.set(formatBidId(bidOf(order)), openBid(order, "open", offerOf(sampleUnit())));
  const dir = memoryFolder(t);
  const first = await openStage(world, { dir });
  await first.capacity.release(order, "too old");
  const intent = { what: "closeBid", subject: order, why: "too old", body: {}, priority: 0 };
  await first.journal.durable("close", ({ intents }) => intents.file(intent));
  await first.stop();
  const stage = await openStage(world, { dir });
  t.after(() => stage.stop());
  assert.deepEqual([...stage.capacity.reserved()], []);
});

test("what the engine could not write down is released without a trace", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [snapshotNode("a")] });
  const taken = reserve(stage, order, sampleUnit({ cpuMilli: 3_000n }));
  assert.ok(taken.fits);
  const written = stage.journal.durable("bid", (tables) => {
    taken.write(tables);
    throw new Error("no intent");
  });
  await assert.rejects(written, /no intent/);
  await stage.capacity.release(order, "it could not be written down");
  assert.deepEqual([stage.freeCpu(), stage.journal.read.reservations.all()], [8_000n, []]);
});

test("addresses are free by what the IP operator says, less those that are promised", async (t) => {
  const world = createWorld();
  let inUse = 1n;
  const port = { service: "web", port: 80, externalPort: 80, protocol: "TCP" };
  let ofLease: { readonly address: string }[] = [];
  world.ipOperator = {
    usage: async () => ({ total: 4n, inUse }),
    portsOf: async () => ofLease.map((each) => ({ ...port, ...each })),
  };
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a")] });
  const withIps = (...numbers: number[]) => ({
    ...sampleUnit(),
    endpoints: numbers.map((sequenceNumber) => ({ kind: "leased-ip", sequenceNumber }) as const),
  });
  const answer = (...numbers: number[]) => stage.capacity.addressesFor(groupOf(withIps(...numbers)));
  assert.deepEqual(answer(1, 2, 3, 3), { yes: true, reason: "it requests 3 IP addresses, and 3 are free" });
  assert.ok(reserve(stage, order, withIps(1, 2)).fits);
  assert.deepEqual(answer(1, 2), { yes: false, reason: "it requests 2 IP addresses, and 1 are free" });
  assert.equal(reserve(stage, orderKey(2), withIps(1, 2)).fits, false);
  // The lease gets its addresses, and the operator counts them a moment later.
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  ofLease = [{ address: "203.0.113.1" }, { address: "203.0.113.2" }];
  inUse = 3n;
  await world.clock.advance(4 * reservationSettleMs);
  assert.deepEqual(answer(1), { yes: true, reason: "it requests 1 IP address, and 1 are free" });
  assert.equal(answer(1, 2).yes, false);
});

test("an address that a running lease has lost is promised to it still", async (t) => {
  const world = createWorld();
  const port = { service: "web", port: 80, externalPort: 80, protocol: "TCP", address: "203.0.113.1" };
  let has: (typeof port)[] = [];
  world.ipOperator = { usage: async () => ({ total: 1n, inUse: BigInt(has.length) }), portsOf: async () => has };
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a")] });
  const unit = { ...sampleUnit(), endpoints: [{ kind: "leased-ip", sequenceNumber: 1 } as const] };
  const left = () => /and (\d+) are free/.exec(stage.capacity.addressesFor(groupOf(unit)).reason)?.[1];
  assert.ok(reserve(stage, order, unit).fits);
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  has = [port];
  await world.clock.advance(4 * reservationSettleMs);
  assert.equal(left(), "0");
  // Its Service is deleted while MetalLB is away.
  has = [];
  await world.clock.advance(addressesPollMs);
  assert.equal(left(), "0");
  await world.clock.advance(4 * reservationSettleMs);
  assert.equal(left(), "0");
});

test("endpoints that share the address of their owner are one, promised and had", async (t) => {
  const world = createWorld();
  world.addressSharing = "owner";
  const port = { service: "web", port: 80, externalPort: 80, protocol: "TCP", address: "203.0.113.1" };
  let has: (typeof port)[] = [];
  world.ipOperator = { usage: async () => ({ total: 2n, inUse: BigInt(has.length) }), portsOf: async () => has };
  const stage = await stageOf(t, world);
  stage.show({ nodes: [snapshotNode("a")] });
  const endpoints = [1, 2, 3].map((sequenceNumber) => ({ kind: "leased-ip", sequenceNumber }) as const);
  const answer = () => stage.capacity.addressesFor(groupOf({ ...sampleUnit(), endpoints }));
  const one = { yes: true, reason: "it requests 1 IP address, and 1 are free" };
  assert.ok(reserve(stage, order, { ...sampleUnit(), endpoints }).fits);
  assert.deepEqual(answer(), one);
  world.leases.set(formatBidId(bidOf(order)), leaseOf(order));
  has = [port];
  await world.clock.advance(4 * reservationSettleMs);
  assert.deepEqual(answer(), one);
});

test("with the IP operator off, an order with addresses is a no in words, and one without is not", async (t) => {
  const stage = await stageOf(t);
  const unit = { ...sampleUnit(), endpoints: [{ kind: "leased-ip", sequenceNumber: 1 } as const] };
  const answer = stage.capacity.addressesFor(groupOf(unit));
  assert.deepEqual([answer.yes, /--ip-operator is off/.test(answer.reason)], [false, true]);
  assert.equal(stage.capacity.addressesFor(groupOf(sampleUnit())).yes, true);
});
