/** The feeds of the inventory against the operator's own publisher, each in its way, and both against the whole operator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterSnapshot } from "../../src/cluster/capacity/inventory/feed.ts";
import { createGrpcFeed } from "../../src/cluster/capacity/inventory/grpc-feed.ts";
import { createMemoryFeed } from "../../src/cluster/capacity/inventory/memory-feed.ts";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { startInventoryGrpc } from "../../src/operators/inventory/serving/listeners.ts";
import { createPublisher, type Publisher } from "../../src/operators/inventory/serving/publisher.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { checkFeed } from "../support/contracts/inventory-feed.contract.ts";
import { eventually } from "../support/eventually.ts";
import { sampleInventory, sampleNode } from "../support/samples/inventory-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { pod, stage } from "../support/stages/inventory-stage.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

checkFeed({
  name: "over gRPC",
  async open(owner, publisher, clock) {
    const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
    owner.after(() => grpc.close());
    const locate = async () => ({ host: "127.0.0.1", port: grpc.port });
    return createGrpcFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  },
});

checkFeed({
  name: "in memory",
  open: async (_, publisher, clock) => createMemoryFeed({ source: Promise.resolve(publisher), clock, log: silentLog }),
});

test("our operator restarted → the last snapshot stays until the next", async (t) => {
  const clock = createVirtualClock();
  let port = 0;
  const start = async () => {
    const publisher = createPublisher({ clock: realClock, log: silentLog, waitingFor: () => "nodes", ageMs: () => 0 });
    const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
    port = grpc.port;
    const stop = async () => {
      // Nothing listens there.
      port = 1;
      publisher.close();
      await grpc.close();
    };
    t.after(stop);
    return { publisher, stop };
  };
  const first = await start();
  const locate = async () => ({ host: "127.0.0.1", port });
  const feed = createGrpcFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  first.publisher.show(sampleInventory([sampleNode("one"), sampleNode("two")]));
  await eventually("the snapshot", () => feed.snapshot);
  await first.stop();
  await eventually("the end to be noticed", () => feed.lastError);
  const second = await start();
  // It reads the cluster first, and reports that in its status.
  await eventually("what it waits for", async () => {
    await clock.advance(1_000);
    return /waits for nodes/.test(feed.lastError ?? "");
  });
  assert.deepEqual([feed.snapshot?.nodes.length, feed.error], [2, undefined]);
  second.publisher.show(sampleInventory([sampleNode("two")]));
  await eventually("the next snapshot", async () => {
    await clock.advance(1_000);
    return feed.snapshot?.nodes.length === 1;
  });
  assert.equal(feed.lastError, undefined);
});

test("a feed whose operator never starts can be stopped all the same", async () => {
  const source = new Promise<Publisher>(() => undefined);
  const feed = createMemoryFeed({ source, clock: createVirtualClock(), log: silentLog });
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  stopping.abort();
  await running;
  assert.match(feed.error ?? "", /^no inventory snapshot has come/);
});

test("a pod bound by the snapshot's version is counted in it, over gRPC and in memory", async (t) => {
  const publisher = createPublisher({
    clock: realClock,
    log: silentLog,
    waitingFor: () => "nodes",
    ageMs: () => operator.ageMs,
  });
  t.after(() => publisher.close());
  const { cluster, operator, until } = await stage(t, { onInventory: publisher.show });
  const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
  t.after(() => grpc.close());
  const locate = async () => ({ host: "127.0.0.1", port: grpc.port });
  const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };
  const feeds = [
    createGrpcFeed({ locate, ...deps }),
    createMemoryFeed({ source: Promise.resolve(publisher), ...deps }),
  ];
  const snapshots: ClusterSnapshot[] = [];
  const stopping = new AbortController();
  for (const feed of feeds) feed.onSnapshot((snapshot) => snapshots.push(snapshot));
  const running = feeds.map((feed) => feed.run(stopping.signal));
  t.after(async () => {
    stopping.abort();
    await Promise.all(running);
  });

  const bound: bigint[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    cluster.server.create(kinds.pod, pod(name, { cpu: "1500m" }), "test");
    const at = { namespace: "tenants", name };
    await until("its node", () => fieldsOf(cluster.server.get(kinds.pod, at)?.["spec"])["nodeName"]);
    const version = BigInt(cluster.server.get(kinds.pod, at)?.metadata.resourceVersion ?? 0);
    bound.push(version);
    await until("the operator to see it", () => BigInt(operator.inventory?.podsVersion ?? 0) >= version);
    for (const feed of feeds)
      await eventually("the snapshot", () => BigInt(feed.snapshot?.podsVersion ?? 0) >= version);
  }
  for (const { nodes, podsVersion } of snapshots) {
    const taken = nodes.reduce((sum, { cpuMilli }) => sum + cpuMilli.allocated, 0n);
    const included = bound.filter((version) => version <= BigInt(podsVersion ?? 0)).length;
    assert.ok(taken >= 1_500n * BigInt(included), `${taken} is taken by ${included} pods`);
  }
  assert.deepEqual(feeds[0]?.snapshot?.nodes, feeds[1]?.snapshot?.nodes);
});
