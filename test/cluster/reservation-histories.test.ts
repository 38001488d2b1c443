/**
 * Random histories of reservations, pods, snapshots and restarts against a simple model: whatever comes in whichever order,
 * nothing that is promised is free, and when all news has come everything is counted exactly once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fit } from "../../src/market/fit.ts";
import { formatBidId } from "../../src/market/ids.ts";
import type { Random } from "../../src/runtime/random.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { gi, gpuCount, sampleUnit, volume } from "../support/samples/placement-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import {
  bidOf,
  createWorld,
  groupOf,
  leaseClaim,
  leaseOf,
  leasePod,
  nodeSize,
  openStage,
  orderKey,
  type Stage,
  snapshotNode,
} from "../support/stages/reservation-stage.ts";
import { counts, seeds } from "../support/thorough.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

interface SoldOrder {
  readonly key: string;
  readonly cpuMilli: bigint;
  readonly count: number;
  readonly gpus: bigint;
  /** Of each replica: one volume of the default class, by that name or its own. */
  readonly volumeGi: bigint;
  leased: boolean;
  /** Replicas whose volume is there. */
  volumes: number;
}

interface Pod {
  readonly order: SoldOrder;
  readonly node: string;
  /** Its last event; the first that says that it is bound. */
  version: number;
  leaving: boolean;
}

const gpusPerNode = 2n;
const classGi = 1_000n;

/** The cluster as it is, and the provider that hears of it sooner or later. */
async function createHistory(owner: Owner, random: Random) {
  const clock = createVirtualClock();
  const world = createWorld(clock);
  const dir = memoryFolder(owner);
  const names = ["a", "b", "c"];
  const orders = new Map<string, SoldOrder>();
  const pods = new Map<string, Pod>();
  /** Each in its order; which of both is heard first is open. */
  const news = { pods: [] as (() => void)[], pictures: [] as (() => void)[], claims: [] as (() => void)[] };
  /** As the watch of the inventory operator has them, which is not that of pods. */
  let volumes = { version: 1, gi: 0n };
  let version = 1;
  let orderCount = 0;
  let podCount = 0;
  let stage: Stage = await openStage(world, { dir });
  owner.after(() => stage.stop());

  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random.next() * list.length)];
  const podsOf = (order: SoldOrder) => [...pods].filter(([, pod]) => pod.order === order && !pod.leaving);

  function pictureNow(without?: string) {
    const nodes = names
      .filter((name) => name !== without)
      .map((name) => {
        const here = [...pods.values()].filter(({ node }) => node === name);
        const sum = (amount: (pod: Pod) => bigint) => here.reduce((all, pod) => all + amount(pod), 0n);
        const taken = {
          cpuMilli: sum(({ order }) => order.cpuMilli),
          memoryBytes: sum(() => gi),
          ephemeralBytes: sum(() => gi),
          gpus: sum(({ order }) => order.gpus),
        };
        return snapshotNode(
          name,
          { gpuCounts: [gpuCount("h100", gpusPerNode)], storageClasses: ["beta3", "default"] },
          taken,
        );
      });
    const bytes = { allocatable: classGi * gi, allocated: volumes.gi * gi };
    const unused = { allocatable: classGi * gi, allocated: 0n };
    const storage = [
      { class: "beta3", bytes },
      { class: "default", bytes: unused },
    ];
    const versions = { podsVersion: `${version}`, volumesVersion: `${volumes.version}` };
    return { nodes, storage, ...versions, defaultClass: "beta3" };
  }

  function tellPod(name: string): void {
    const pod = pods.get(name);
    if (!pod) return;
    const { order, node, leaving } = pod;
    const size = { cpu: `${order.cpuMilli}m`, gpus: Number(order.gpus), node, version: `${pod.version}`, leaving };
    const object = leasePod(order.key, name, size);
    // A watch that is opened meanwhile lists it.
    world.pods.set(name, object);
    news.pods.push(() => stage.pod(name, object));
    // It stays for a while after that, so the news of it is always there before a snapshot that lacks it.
    if (leaving) for (const tell of news.pods.splice(0)) tell();
  }

  function hearVolumes(): void {
    const made = [...orders.values()].map((order) => order.volumeGi * BigInt(order.volumes));
    volumes = { version, gi: made.reduce((sum, each) => sum + each, 0n) };
  }

  const actions: Record<string, () => Promise<void> | void> = {
    async reserve() {
      orderCount += 1;
      const key = orderKey(orderCount);
      const order = {
        key,
        cpuMilli: BigInt(500 + 500 * Math.floor(random.next() * 6)),
        count: 1 + Math.floor(random.next() * 3),
        gpus: random.next() < 0.3 ? 1n : 0n,
        volumeGi: random.next() < 0.4 ? BigInt(10 + 10 * Math.floor(random.next() * 4)) : 0n,
        leased: false,
        volumes: 0,
      };
      const { cpuMilli, count, gpus, volumeGi } = order;
      const models = gpus > 0n ? ["nvidia/model/*"] : [];
      const name = random.next() < 0.5 ? "beta3" : "default";
      const disks = volumeGi > 0n ? [volume(name, volumeGi * gi)] : [];
      const group = groupOf(sampleUnit({ cpuMilli, count, gpus, models, volumes: disks }));
      const fit: Fit = stage.capacity.fit(group);
      if (!fit.fits) return;
      const expiresAtMs = clock.now() + 10 ** 9;
      const reserved = stage.capacity.reserve({ orderId: key, group, offer: fit.offer, expiresAtMs });
      assert.ok(reserved.fits, "what fits is there to be taken");
      orders.set(key, order);
      await stage.journal.durable("bid", reserved.write);
    },
    async release() {
      const order = pick([...orders.values()].filter(({ leased }) => !leased));
      if (!order) return;
      const before = totals();
      orders.delete(order.key);
      const released = stage.capacity.release(order.key, "lost");
      const back = totals().cpu - before.cpu;
      // What has no node in the snapshot takes of none.
      if (hasAllNodes()) assert.equal(back, order.cpuMilli * BigInt(order.count), "a release gives back exactly");
      await released;
    },
    win() {
      const order = pick([...orders.values()].filter(({ leased }) => !leased));
      if (!order) return;
      order.leased = true;
      world.leases.set(formatBidId(bidOf(order.key)), leaseOf(order.key));
    },
    bind() {
      const order = pick([...orders.values()].filter((each) => each.leased && podsOf(each).length < each.count));
      const node = order && pick(names);
      if (!order || !node) return;
      podCount += 1;
      version += 1;
      pods.set(`pod-${podCount}`, { order, node, version, leaving: false });
      tellPod(`pod-${podCount}`);
    },
    leave() {
      const [name, pod] = pick([...pods].filter(([, each]) => !each.leaving)) ?? [];
      if (!name || !pod) return;
      version += 1;
      pod.version = version;
      pod.leaving = true;
      tellPod(name);
    },
    go() {
      const [name] = pick([...pods].filter(([, each]) => each.leaving)) ?? [];
      if (!name) return;
      version += 1;
      pods.delete(name);
      news.pods.push(() => stage.pod(name, undefined));
    },
    volume() {
      const order = pick(
        [...orders.values()].filter((each) => each.leased && each.volumeGi > 0n && each.volumes < each.count),
      );
      if (!order) return;
      order.volumes += 1;
      // The claim is bound after its volume was made.
      version += 2;
      const name = `${order.key} ${order.volumes}`;
      const object = leaseClaim(order.key, name, `${order.volumeGi}Gi`, `${version}`);
      world.claims.set(name, object);
      news.claims.push(() => stage.claim(name, object));
    },
    hearVolumes,
    picture() {
      const snapshot = pictureNow();
      news.pictures.push(() => stage.show(snapshot));
    },
    fewerNodes() {
      const snapshot = pictureNow(pick(names));
      news.pictures.push(() => stage.show(snapshot));
    },
    hear() {
      const [one, other] = random.next() < 0.5 ? [news.pods, news.pictures] : [news.pictures, news.pods];
      ((random.next() < 0.3 ? news.claims.shift() : undefined) ?? one.shift() ?? other.shift())?.();
    },
    async restart() {
      await stage.stop();
      // What is there is listed, and the newest snapshot comes first.
      news.pods.length = 0;
      news.pictures.length = 0;
      news.claims.length = 0;
      for (const name of [...world.pods.keys()]) if (!pods.has(name)) world.pods.delete(name);
      stage = await openStage(world, { dir });
    },
  };

  function hasAllNodes(): boolean {
    return stage.keeper.book.room.nodes.length === names.length;
  }

  /** Of all nodes that are in the snapshot, below zero where it is so. */
  function totals() {
    let [cpu, gpu] = [0n, 0n];
    for (const { free } of stage.keeper.book.room.nodes) {
      cpu += free[0] ?? 0n;
      gpu += free[3] ?? 0n;
    }
    return { cpu, gpu, storageGi: (stage.keeper.book.room.classes.get("beta3") ?? 0n) / gi };
  }

  function promised() {
    let [cpu, gpu, storageGi] = [0n, 0n, 0n];
    for (const { cpuMilli, count, gpus, volumeGi } of orders.values()) {
      cpu += cpuMilli * BigInt(count);
      gpu += gpus * BigInt(count);
      storageGi += volumeGi * BigInt(count);
    }
    return { cpu, gpu, storageGi };
  }

  return {
    actions,
    totals,
    promised,
    size: names.length,
    hasAllNodes,
    /** All news is heard, what leaves is gone, and the newest snapshot shown. */
    settleAll() {
      for (const [name, pod] of [...pods]) {
        if (!pod.leaving) continue;
        pods.delete(name);
        news.pods.push(() => stage.pod(name, undefined));
      }
      for (const tell of [...news.pods.splice(0), ...news.pictures.splice(0), ...news.claims.splice(0)]) tell();
      version += 1;
      hearVolumes();
      stage.show(pictureNow());
    },
  };
}

const weights = [
  "reserve",
  "reserve",
  "release",
  "win",
  "win",
  "bind",
  "bind",
  "leave",
  "go",
  "snapshot",
  "snapshot",
  "volume",
  "hearVolumes",
];
const rare = ["fewerNodes", "restart"];

test("through any history nothing that is promised is free, and in the end everything is counted once", async (t) => {
  let steps = 0;
  await playSeeds("reservation-histories", seeds(counts(60, 300, 3_000)), async (seed) => {
    await using owner = createOwner();
    const random = createSeededRandom(seed);
    const history = await createHistory(owner, random);
    history.settleAll();
    const capacity = {
      cpu: BigInt(history.size) * nodeSize.cpuMilli,
      gpu: BigInt(history.size) * gpusPerNode,
      storageGi: classGi,
    };
    const told: string[] = [];
    for (let step = 0; step < 50; step += 1, steps += 1) {
      const draw = random.next();
      const names = draw < 0.35 ? ["hear"] : draw < 0.96 ? weights : rare;
      const name = names[Math.floor(random.next() * names.length)] ?? "";
      told.push(name);
      await history.actions[name]?.();
      const { cpu, gpu, storageGi } = history.totals();
      const promised = history.promised();
      const where = told.join(", ");
      const storageLeft = capacity.storageGi - promised.storageGi;
      assert.ok(storageGi <= storageLeft, `${storageGi}Gi free, ${promised.storageGi}Gi promised; ${where}`);
      if (history.hasAllNodes()) {
        assert.ok(cpu <= capacity.cpu - promised.cpu, `${cpu} free with ${promised.cpu} promised; ${where}`);
        assert.ok(gpu <= capacity.gpu - promised.gpu, `${gpu} gpus free with ${promised.gpu} promised; ${where}`);
      }
    }
    history.settleAll();
    const promised = history.promised();
    assert.deepEqual(
      history.totals(),
      {
        cpu: capacity.cpu - promised.cpu,
        gpu: capacity.gpu - promised.gpu,
        storageGi: capacity.storageGi - promised.storageGi,
      },
      told.join(", "),
    );
  });
  t.diagnostic(`${steps} steps`);
});
