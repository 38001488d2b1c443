/**
 * What the cluster service has for sale: what becomes of leases and of what is offered when tenants scale, and when machines are
 * maintained, fall silent, run out of memory or go.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Capacity } from "../../src/bidengine/capacity.ts";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import type { ClusterCapacity } from "../../src/cluster/capacity/reservations/reservations.ts";
import { conditionsOf } from "../../src/cluster/capacity/reservations/upkeep.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { adjustable, createLedger, type Wish } from "../support/capacity-ledger.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { gi } from "../support/samples/placement-samples.ts";
import { type CapacityStage, capacityStage } from "../support/stages/capacity-stage.ts";
import { isRunningAndReady } from "../support/stages/simulated-cluster-stage.ts";
import { counts, quickTest, seeds } from "../support/thorough.ts";
import { audited, playHistory } from "./capacity-history.ts";

const size = { cpuMilli: 4_000n, memoryBytes: 16n * gi, ephemeralBytes: 200n * gi };

/** A lease that runs, and the means to look after it. */
async function running(t: TestContext, wish: Wish, machines = ["a", "b"]) {
  const stage = await capacityStage(t, { machines, size });
  const ledger = createLedger(stage.truth);
  assert.ok(await stage.bid(1, adjustable(wish)));
  ledger.promised(1, wish);
  const [promised] = ledger.bids();
  assert.ok(promised);
  const lease = await stage.win(1);
  promised.lease = lease;
  await stage.send(lease, adjustable(wish).manifest);
  const pods = () => podsOf(stage, lease);
  const rest = async (ms = 0) => {
    await stage.clock.advance(ms);
    await audited(stage, ledger);
  };
  await rest();
  assert.ok(pods().every(isRunningAndReady));
  const scale = async (next: Wish) => {
    promised.wish = next;
    await stage.send(lease, adjustable(next).manifest);
  };
  const claims = () =>
    stage.cluster.server
      .list(kinds.persistentVolumeClaim, { namespace: leaseNamespace(lease) })
      .map(({ metadata }) => metadata.name);
  const troubles = () =>
    stage.life.health.get(formatLeaseId(lease))?.troubles.map(({ service, reason }) => `${service} ${reason}`) ?? [];
  return { stage, nodes: stage.cluster.nodes, pods, rest, scale, claims, troubles };
}

function podsOf({ cluster }: CapacityStage, lease: LeaseId): Pod[] {
  const pods = cluster.server.list(kinds.pod, { namespace: leaseNamespace(lease) }) as unknown as readonly Pod[];
  return pods.filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Failed");
}

/** The services do not know each other: what one needs and what the other gives are held together here. */
const needed = (given: ClusterCapacity): Capacity => given;

quickTest("the cluster service gives what the bid engine needs of it", () => {
  const given = {} as ClusterCapacity;
  assert.equal(needed(given), given);
});

const oneStore: Wish = { pages: 1, apis: 0, stores: 1, caches: 0 };

quickTest(
  "a volume that cannot move is counted once, also by a provider that starts while its pod waits",
  async (t) => {
    const { stage, nodes, pods, rest, troubles } = await running(t, oneStore);
    const home = pods().find(({ metadata }) => metadata.name === "store-0")?.spec.nodeName ?? "";
    nodes.drain(home);
    await rest();
    const waiting = pods().find(({ metadata }) => metadata.name === "store-0");
    assert.equal(waiting?.spec.nodeName, undefined);
    assert.deepEqual(troubles(), ["store VolumeNotBound"]);
    // For longer than a lease may be unhealthy: it is no fault of its tenant.
    await rest(600_000);
    assert.deepEqual(stage.closings, []);
    await stage.restart();
    await rest();
    nodes.uncordon(home);
    await rest();
    assert.ok(pods().every(isRunningAndReady));
    assert.equal(pods().find(({ metadata }) => metadata.name === "store-0")?.spec.nodeName, home);
  },
);

quickTest(
  "an update shifts replicas between services of a unit in place, and no pod restarts that stays",
  async (t) => {
    const { stage, pods, rest, scale, claims } = await running(t, { pages: 3, apis: 1, stores: 2, caches: 0 });
    const before = new Map(pods().map(({ metadata }) => [metadata.name, metadata.uid]));
    await scale({ pages: 2, apis: 2, stores: 1, caches: 1 });
    await rest();
    const counts = Map.groupBy(pods(), ({ metadata }) => metadata.labels?.["akash.network/manifest-service"]);
    assert.deepEqual(
      ["page", "api", "store", "cache"].map((service) => counts.get(service)?.filter(isRunningAndReady).length),
      [2, 2, 1, 1],
    );
    const kept = pods().filter(({ metadata }) => before.get(metadata.name) === metadata.uid);
    assert.equal(kept.length, 4);
    // The volume of the replica that is gone has data on it; it stays, is counted, and is told.
    assert.deepEqual(claims(), ["cache-data-cache-0", "store-data-store-0", "store-data-store-1"]);
    assert.deepEqual(
      conditionsOf(stage.life.keeper.book).map(({ type }) => type),
      ["SpareVolumes"],
    );
    // Back again: the claim that was left is taken up, and no further one is made.
    await scale({ pages: 4, apis: 0, stores: 2, caches: 0 });
    await rest();
    assert.ok(pods().every(isRunningAndReady));
    assert.equal(claims().length, 3);
  },
);

quickTest("replicas shift although every machine is full: one waits until the other has gone", async (t) => {
  const { pods, rest, scale } = await running(t, { pages: 5, apis: 5, stores: 0, caches: 0 });
  await scale({ pages: 10, apis: 0, stores: 0, caches: 0 });
  await rest();
  assert.equal(pods().filter(isRunningAndReady).length, 10);
});

quickTest(
  "a cordoned machine is not offered, what runs there stays and is counted, also when its kubelet starts again",
  async (t) => {
    const { stage, nodes, pods, rest } = await running(t, { pages: 4, apis: 0, stores: 2, caches: 0 });
    const before = pods().map(({ metadata }) => metadata.uid);
    for (const name of ["a", "b"]) nodes.cordon(name);
    await rest();
    assert.equal(await stage.bid(2, adjustable({ pages: 1, apis: 0, stores: 0, caches: 0 })), false);
    for (const name of ["a", "b"]) nodes.restart(name);
    await rest();
    nodes.uncordon("a");
    await rest();
    nodes.uncordon("b");
    await rest();
    assert.deepEqual(
      pods().map(({ metadata }) => metadata.uid),
      before,
    );
  },
);

quickTest(
  "the pods of a drained machine move, their room with them, and it is offered whole when it is back",
  async (t) => {
    const { stage, nodes, pods, rest } = await running(t, { pages: 4, apis: 0, stores: 0, caches: 0 });
    nodes.drain("a");
    await rest();
    assert.ok(pods().every((pod) => isRunningAndReady(pod) && pod.spec.nodeName === "b"));
    nodes.uncordon("a");
    await rest();
    assert.deepEqual(stage.life.keeper.book.room.node("a")?.free.slice(0, 2), [size.cpuMilli, size.memoryBytes]);
  },
);

quickTest(
  "what a lost machine ran is promised elsewhere as soon as it is given up, and nothing of it twice when it is back",
  async (t) => {
    const { stage, nodes, pods, rest, troubles } = await running(t, { pages: 4, apis: 0, stores: 0, caches: 0 });
    nodes.lose("a");
    await rest(60_000);
    // It may be back any time: until the cluster gives them up, its pods are where they were.
    assert.ok(pods().some(({ spec }) => spec.nodeName === "a"));
    assert.deepEqual(troubles(), ["page NodeLost"]);
    await rest(300_000);
    assert.ok(pods().every(({ spec }) => spec.nodeName !== "a"));
    assert.deepEqual([troubles(), stage.closings], [[], []]);
    nodes.bringBack("a");
    await rest();
    assert.ok(pods().every(isRunningAndReady));
  },
);

quickTest(
  "a pod that is evicted for memory is replaced elsewhere, and its machine is not offered until it has enough again",
  async (t) => {
    const { stage, nodes, pods, rest } = await running(t, { pages: 2, apis: 0, stores: 0, caches: 0 });
    const [victim] = pods();
    assert.ok(victim?.spec.nodeName);
    nodes.evict(victim.metadata);
    await rest();
    assert.equal(stage.life.keeper.book.room.node(victim.spec.nodeName), undefined);
    assert.ok(pods().every((pod) => isRunningAndReady(pod) && pod.spec.nodeName !== victim.spec.nodeName));
    nodes.relieve(victim.spec.nodeName);
    await rest();
  },
);

quickTest("machines that an autoscaler adds and takes away are offered at once, and no longer", async (t) => {
  const { stage, nodes, pods, rest } = await running(t, { pages: 4, apis: 0, stores: 0, caches: 0 }, ["a"]);
  const large = adjustable({ pages: 5, apis: 0, stores: 0, caches: 0 });
  assert.equal(await stage.bid(2, large), false);
  nodes.addNode({ name: "b", ...size });
  await stage.clock.advance(500);
  assert.equal(stage.life.keeper.capacity.fit(large.groups[0] ?? assert.fail()).fits, true);
  await rest();
  nodes.removeNode("a");
  // The node and its pods go together for us, although the cluster takes its time with the pods.
  await rest(5_000);
  await rest(60_000);
  assert.ok(pods().every((pod) => isRunningAndReady(pod) && pod.spec.nodeName === "b"));
});

test("whatever happens to machines and leases, capacity adds up to the byte", async () => {
  await playSeeds("cluster-capacity", seeds(counts(1, 8, 100)), (seed) => playHistory(seed, counts(12, 25)));
});
