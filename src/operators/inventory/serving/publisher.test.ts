import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import fc from "fast-check";
import { createOwner, type Owner } from "../../../../test/support/owner.ts";
import { runs } from "../../../../test/support/runs.ts";
import {
  sampleInventory,
  sampleNode,
  sampleStorage,
  withOnePodMore,
} from "../../../../test/support/samples/inventory-samples.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { busLimits } from "../../../bus/bus.ts";
import { createMemoryBus } from "../../../bus/memory.ts";
import type { JsonObject, Topic } from "../../../bus/topics.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { type Fields, type Log, silentLog } from "../../../runtime/log.ts";
import { statusEveryMs } from "../../../runtime/throttle.ts";
import type { Inventory, NodeInventory } from "../inventory.ts";
import { createPublisher, inventoryPublishMs } from "./publisher.ts";

function open(owner: Owner, messageBytes = busLimits.messageBytes, log: Log = silentLog) {
  const clock = createVirtualClock();
  const bus = createMemoryBus({ clock, log: silentLog, limits: { messageBytes } });
  const messages: { topic: Topic; data: JsonObject }[] = [];
  bus.subscribe("inventory.*", ({ topic, data }) => void messages.push({ topic, data }));
  const deps = { clock, log, bus, waitingFor: () => "nodes", ageMs: () => 0 };
  const publisher = createPublisher(deps);
  owner.after(() => publisher.close());
  const topics = () => messages.splice(0).map(({ topic }) => topic);
  return { clock, bus, publisher, messages, topics };
}

test("a cluster that is larger than clients of gRPC take is said once, until it fits again", async (t) => {
  const said: string[] = [];
  const log: Log = { ...silentLog, error: (message) => void said.push(message) };
  const { clock, publisher } = open(t, busLimits.messageBytes, log);
  const storageClasses = Array.from({ length: 200 }, () => "c".repeat(253));
  const large = Array.from({ length: 90 }, (_, n) => sampleNode(`n${n}`, { storageClasses }));
  const show = async (nodes: readonly NodeInventory[]) => {
    publisher.show(sampleInventory([...nodes]));
    await clock.advance(inventoryPublishMs);
  };
  await show(large);
  await show(large.slice(1));
  assert.deepEqual(
    said.filter((each) => each.includes("gRPC")),
    ["inventory exceeds the default message size of gRPC clients"],
  );
  await show(large.slice(0, 10));
  await show(large);
  assert.equal(said.filter((each) => each.includes("gRPC")).length, 2);
});

/** Collects published snapshots, as a fast stream does. */
function listen(publisher: ReturnType<typeof open>["publisher"], owner: Owner): Inventory[] {
  const received: Inventory[] = [];
  const abort = new AbortController();
  owner.after(() => abort.abort());
  const run = async () => {
    for (let last: Awaited<ReturnType<typeof publisher.next>> | undefined; ; ) {
      last = await publisher.next(last, abort.signal);
      received.push(last.inventory);
    }
  };
  run().catch((thrown) => assert.equal(thrown, abort.signal.reason));
  return received;
}

test("requests before the first snapshot are answered with what it waits for", async (t) => {
  const { publisher } = open(t);
  assert.equal(publisher.ready, false);
  assert.throws(
    () => publisher.snapshot(),
    (thrown) => ProviderError.is(thrown, "AKP_INVENTORY_NOT_READY") && /waits for nodes/.test(thrown.message),
  );
  publisher.show(sampleInventory());
  assert.equal(publisher.snapshot().offered.length, 1);
});

test("the first change is published at once, and later ones merged into the newest", async (t) => {
  const { clock, publisher } = open(t);
  const received = listen(publisher, t);
  let node = sampleNode();
  const shown: Inventory[] = [];
  const change = () => {
    node = withOnePodMore(node);
    shown.push(sampleInventory([node]));
    publisher.show(shown.at(-1) as Inventory);
  };
  change();
  await clock.advance(0);
  assert.deepEqual(received, [shown[0]]);
  for (let n = 0; n < 20; n += 1) change();
  await clock.advance(inventoryPublishMs - 1);
  assert.equal(received.length, 1);
  await clock.advance(1);
  assert.deepEqual(received, [shown[0], shown.at(-1)]);
  assert.equal(publisher.publishedCount, 2);
});

test("an equal snapshot is not published again, but is returned to requests", async (t) => {
  const { clock, publisher, topics } = open(t);
  const received = listen(publisher, t);
  publisher.show(sampleInventory());
  await clock.advance(1_000);
  assert.deepEqual(topics().sort(), ["inventory.cluster", "inventory.nodes", "inventory.storage"]);
  const usage = { cpuMilli: 1n, memoryBytes: 1n };
  const later = sampleInventory([sampleNode("node-1", { usage })], { atMs: 1 });
  publisher.show(later);
  await clock.advance(1_000);
  assert.equal(received.length, 1);
  assert.deepEqual(topics(), []);
  assert.equal(publisher.snapshot().inventory, later);
});

test("each bus topic is published only when it changes, and retained", async (t) => {
  const { clock, bus, publisher, topics } = open(t);
  const show = async (inventory: Inventory) => {
    publisher.show(inventory);
    await clock.advance(1_000);
    return topics();
  };
  const node = sampleNode();
  await show(sampleInventory([node]));
  assert.deepEqual(await show(sampleInventory([withOnePodMore(node)])), ["inventory.cluster"]);
  assert.deepEqual(await show(sampleInventory([withOnePodMore(node)], { storage: [sampleStorage({ replicas: 2 })] })), [
    "inventory.storage",
  ]);
  const upgraded = sampleNode("node-1", { namedGpus: [] });
  const news = await show(sampleInventory([upgraded], { storage: [sampleStorage({ replicas: 2 })] }));
  assert.deepEqual(news.sort(), ["inventory.cluster", "inventory.nodes"]);
  const kept: [Topic, JsonObject][] = [];
  bus.subscribe("inventory.*", ({ topic, data, retained }) => void (retained && kept.push([topic, data])));
  await clock.settle();
  assert.equal(kept.length, 3);
  assert.partialDeepStrictEqual(Object.fromEntries(kept), {
    "inventory.cluster": { nodes: [{ name: "node-1", resources: { gpu: { info: null } } }], storage: [{}] },
    "inventory.nodes": { nodes: [{ name: "node-1", offered: true, architecture: "amd64" }] },
    "inventory.storage": { storage: [{ class: "beta2", size: "5000Gi", replicas: 2 }] },
  });
});

test("a cluster too large for the bus is still published over gRPC and REST", async (t) => {
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields?: Fields) => void errors.push(fields?.["error"]) };
  const { clock, publisher, topics } = open(t, 1_000, log);
  const received = listen(publisher, t);
  for (const node of [sampleNode(), withOnePodMore(sampleNode())]) {
    publisher.show(sampleInventory([node]));
    await clock.advance(1_000);
  }
  assert.equal(received.length, 2);
  assert.deepEqual(topics(), ["inventory.storage"]);
  assert.ok(errors.length === 3 && errors.every((error) => ProviderError.is(error, "AKP_BUS_MESSAGE_TOO_LARGE")));
});

test("nothing is published after close", async (t) => {
  const { clock, publisher, topics } = open(t);
  publisher.show(sampleInventory());
  publisher.close();
  await clock.advance(1_000);
  assert.deepEqual(topics(), []);
  assert.equal(clock.pendingTimers, 0);
});

test("what a node is made into is made once: a change of one leaves the bytes of the others", async (t) => {
  const { publisher } = open(t);
  const [a, b] = [sampleNode("a"), sampleNode("b")];
  publisher.show(sampleInventory([a, b]));
  const before = publisher.snapshot();
  const kept = before.nodeMessage("b");
  publisher.show(sampleInventory([withOnePodMore(a), b]));
  assert.equal(publisher.snapshot().nodeMessage("b"), kept);
  assert.notDeepEqual(publisher.snapshot().nodeMessage("a"), before.nodeMessage("a"));
});

/** Whatever happens to the nodes and however often a listener looks, the last it hears is how things are. */
test("after any history streams, the bus and requests agree with a snapshot made from scratch", async () => {
  const name = fc.constantFrom("a", "b", "c", "d");
  const step = fc.oneof(
    fc.record({ do: fc.constant("pod" as const), name }),
    fc.record({ do: fc.constant("gone" as const), name }),
    fc.record({ do: fc.constant("cordoned" as const), name }),
    fc.record({ do: fc.constant("wait" as const), ms: fc.nat(2 * inventoryPublishMs) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      await using owner = createOwner();
      const { clock, bus, publisher } = open(owner);
      const received = listen(publisher, owner);
      const nodes = new Map<string, NodeInventory>();
      const inventory = () => sampleInventory([...nodes.keys()].sort().flatMap((key) => nodes.get(key) ?? []));
      publisher.show(inventory());
      for (const each of steps) {
        if (each.do === "wait") await clock.advance(each.ms);
        else {
          const known = nodes.get(each.name) ?? sampleNode(each.name);
          if (each.do === "gone") nodes.delete(each.name);
          else if (each.do === "pod") nodes.set(each.name, withOnePodMore(known));
          else
            nodes.set(each.name, {
              ...known,
              offered: !known.offered,
              notOffered: known.offered ? [{ type: "Cordoned", message: "cordoned" }] : [],
            });
          publisher.show(inventory());
        }
      }
      await clock.advance(statusEveryMs);
      const fresh = createPublisher({ clock, log: silentLog, waitingFor: () => undefined, ageMs: () => 0 });
      fresh.show(inventory());
      const wanted = fresh.snapshot();
      fresh.close();
      assert.deepEqual(publisher.published?.clusterMessage(), wanted.clusterMessage());
      assert.deepEqual(publisher.snapshot().fullJson(), wanted.fullJson());
      assert.ok(received.length === publisher.publishedCount);
      const kept = new Map<Topic, JsonObject>();
      bus.subscribe("inventory.*", ({ topic, data }) => void kept.set(topic, data));
      await clock.settle();
      const topics = JSON.parse(JSON.stringify(wanted.topics()));
      assert.deepEqual(kept.get("inventory.cluster"), topics["inventory.cluster"]);
      assert.deepEqual(kept.get("inventory.nodes"), topics["inventory.nodes"]);
      const names = Cluster.decode(wanted.clusterMessage()).nodes.map((node) => node.name);
      assert.deepEqual(names, [...names].sort());
    }),
    { numRuns: runs(20, 500) },
  );
});
