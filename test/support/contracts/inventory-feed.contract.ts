/** What every feed of the inventory does, whether the operator is in another process or in this one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ClusterSnapshot,
  feedOldMs,
  feedProofMs,
  type InventoryFeed,
  roomOf,
} from "../../../src/cluster/capacity/inventory/feed.ts";
import type { Publisher } from "../../../src/operators/inventory/serving/publisher.ts";
import { createPublisher } from "../../../src/operators/inventory/serving/publisher.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import type { Owner } from "../owner.ts";
import { amounts, sampleInventory, sampleNode, sampleStorage, withOnePodMore } from "../samples/inventory-samples.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

export interface FeedContract {
  readonly name: string;
  open(owner: Owner, publisher: Publisher, clock: VirtualClock): Promise<InventoryFeed>;
}

async function stage(owner: Owner, contract: FeedContract) {
  const operator = { ageMs: 0, volumesAgeMs: 0 };
  const publisher = createPublisher({
    // In real time, as an operator in another process would be; only the feed's own time is moved.
    clock: realClock,
    log: silentLog,
    waitingFor: () => "nodes",
    ageMs: () => operator.ageMs,
    volumesAgeMs: () => operator.volumesAgeMs,
  });
  owner.after(() => publisher.close());
  const clock = createVirtualClock();
  const feed = await contract.open(owner, publisher, clock);
  const snapshots: ClusterSnapshot[] = [];
  feed.onSnapshot((snapshot) => {
    assert.equal(feed.snapshot, snapshot);
    snapshots.push(snapshot);
  });
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  owner.after(stop);
  return { operator, publisher, clock, feed, snapshots, stop };
}

export function checkFeed(contract: FeedContract): void {
  const check = (sentence: string, run: (s: Awaited<ReturnType<typeof stage>>) => Promise<void>) =>
    test(`${contract.name}: ${sentence}`, async (t) => run(await stage(t, contract)));

  check("no snapshot yet → an error with its duration", async ({ clock, feed }) => {
    assert.deepEqual([feed.snapshot, feed.ageMs], [undefined, undefined]);
    assert.equal(feed.error, "no inventory snapshot has come for 0 s");
    await clock.advance(4_000);
    assert.equal(feed.error, "no inventory snapshot has come for 4 s");
  });

  check("a snapshot has exact amounts of what is offered", async ({ publisher, feed }) => {
    const away = sampleNode("away", { offered: false, notOffered: [{ type: "Cordoned", message: "cordoned" }] });
    const odd = sampleNode("odd", {
      cpuMilli: amounts(3_999n, 1n),
      memoryBytes: amounts(1_000_000_001n, 5_000_000_000n),
      gpus: amounts(4n, 1n),
      volumes: amounts(25n, 3n),
    });
    publisher.show(sampleInventory([odd, away, sampleNode("even")], { podsVersion: "17" }));
    const snapshot = await eventually("the snapshot", () => feed.snapshot);
    assert.deepEqual(
      snapshot.nodes.map(({ name }) => name),
      ["even", "odd"],
    );
    const [even, oddly] = snapshot.nodes;
    assert.deepEqual(oddly, {
      name: "odd",
      cpuMilli: { allocatable: 3_999n, allocated: 1n },
      memoryBytes: { allocatable: 1_000_000_001n, allocated: 5_000_000_000n },
      ephemeralBytes: { allocatable: 475_899_064_320n, allocated: 10n * 1024n ** 3n },
      gpus: { allocatable: 4n, allocated: 1n },
      gpuCounts: [{ gpu: { vendor: "nvidia", model: "rtx4090", memoryGi: 24n, interface: "pcie" }, count: 8n }],
      volumes: { allocatable: 25n, allocated: 3n },
      storageClasses: ["beta2"],
    });
    assert.deepEqual(even?.volumes, { allocatable: "unlimited", allocated: 0n });
    assert.deepEqual(snapshot.storage, [
      { class: "beta2", bytes: { allocatable: 5_000n * 1024n ** 3n, allocated: 100n * 1024n ** 3n } },
    ]);
    assert.deepEqual([snapshot.podsVersion, snapshot.conditions], ["17", []]);
    assert.deepEqual([feed.error, feed.lastError], [undefined, undefined]);
    const { nodes, classes } = roomOf(snapshot);
    const { cpuMilli, memoryBytes, gpus, unknownGpus, volumes } = nodes[1] ?? assert.fail("no room");
    assert.deepEqual([cpuMilli, memoryBytes, gpus, unknownGpus, volumes], [3_998n, -3_999_999_999n, 3n, 5n, 22n]);
    assert.equal(nodes[0]?.volumes, undefined);
    assert.deepEqual([...classes], [["beta2", 4_900n * 1024n ** 3n]]);
  });

  check("each change comes, and a node that stayed as it was is the same object", async ({ publisher, snapshots }) => {
    const [one, two] = [sampleNode("one"), sampleNode("two")];
    publisher.show(sampleInventory([one, two]));
    await eventually("the first", () => snapshots.length === 1);
    publisher.show(sampleInventory([withOnePodMore(one), two]));
    await eventually("the change", () => snapshots.length === 2);
    assert.equal(snapshots[1]?.nodes[0]?.cpuMilli.allocated, 32_250n);
    assert.equal(snapshots[0]?.nodes[1], snapshots[1]?.nodes[1]);
  });

  check("snapshot with fewer or no nodes → accepted", async ({ publisher, feed, snapshots }) => {
    publisher.show(sampleInventory([sampleNode("one"), sampleNode("two")]));
    await eventually("both", () => feed.snapshot?.nodes.length === 2);
    publisher.show(
      sampleInventory([sampleNode("two")], { storage: [sampleStorage(), sampleStorage({ class: "beta3" })] }),
    );
    await eventually("one", () => feed.snapshot?.nodes.length === 1);
    assert.equal(feed.snapshot?.storage.length, 2);
    publisher.show(sampleInventory([], { storage: [] }));
    await eventually("none", () => feed.snapshot?.nodes.length === 0);
    assert.equal(snapshots.length, 3);
    assert.equal(feed.error, undefined);
  });

  check("a cluster in which nothing happens for hours is not silent", async ({ publisher, clock, feed }) => {
    publisher.show(sampleInventory());
    await eventually("the snapshot", () => feed.snapshot);
    for (let minute = 1; minute <= 180; minute += 1) {
      await clock.advance(feedProofMs);
      await eventually("the proof", () => feed.counts.proofs === minute);
      assert.ok((feed.ageMs ?? 0) < 1_000);
      assert.equal(feed.error, undefined);
    }
    assert.equal(feed.counts.reconnects, 0);
  });

  check("how new volumes are is reported beside how new the rest is", async ({ operator, publisher, feed }) => {
    operator.volumesAgeMs = 40_000;
    publisher.show(sampleInventory([sampleNode()], { podsVersion: "17", volumesVersion: "9", defaultClass: "beta2" }));
    const { podsVersion, volumesVersion, defaultClass } = await eventually("the snapshot", () => feed.snapshot);
    assert.deepEqual([podsVersion, volumesVersion, defaultClass], ["17", "9", "beta2"]);
    assert.ok((feed.ageMs ?? 0) < 1_000 && (feed.volumesAgeMs ?? 0) >= 40_000);
    assert.equal(feed.error, undefined);
  });

  check("only the version changed → read within a minute", async ({ publisher, clock, feed }) => {
    const node = sampleNode();
    publisher.show(sampleInventory([node], { podsVersion: "99" }));
    await eventually("the snapshot", () => feed.snapshot?.podsVersion === "99");
    publisher.show(sampleInventory([node], { podsVersion: "100" }));
    await eventually("it to be looked at", () => publisher.snapshot().inventory.podsVersion === "100");
    await clock.advance(feedProofMs);
    await eventually("the version", () => feed.snapshot?.podsVersion === "100");
  });

  check("only the version changed, and ask() → read at once", async ({ publisher, feed }) => {
    const node = sampleNode();
    publisher.show(sampleInventory([node], { podsVersion: "99" }));
    await eventually("the snapshot", () => feed.snapshot?.podsVersion === "99");
    publisher.show(sampleInventory([node], { podsVersion: "100" }));
    await eventually("it to be looked at", () => publisher.snapshot().inventory.podsVersion === "100");
    feed.ask();
    await eventually("the version", () => feed.snapshot?.podsVersion === "100");
  });

  check("an operator that has not heard of the cluster itself proves nothing", async (s) => {
    const { operator, publisher, clock, feed } = s;
    publisher.show(sampleInventory());
    await eventually("the snapshot", () => feed.snapshot);
    operator.ageMs = feedOldMs + 3_000;
    await clock.advance(feedProofMs);
    await eventually("the trouble", () => feed.error);
    assert.match(feed.error ?? "", /^the inventory operator has not heard of the cluster for 12[3-9] s$/);
    assert.equal(feed.snapshot?.nodes.length, 1);
    operator.ageMs = 0;
    await clock.advance(feedProofMs);
    await eventually("the trouble to end", () => feed.error === undefined);
  });

  check("it leaves no timer behind", async ({ publisher, clock, feed, stop }) => {
    publisher.show(sampleInventory());
    await eventually("the snapshot", () => feed.snapshot);
    await stop();
    assert.equal(clock.pendingTimers, 0);
  });
}
