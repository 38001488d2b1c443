/**
 * The cost of publishing the change of one node among a thousand: to the bus, to streams over gRPC, and over REST.
 */
import { createMemoryBus } from "../src/bus/memory.ts";
import type { Inventory, NodeInventory } from "../src/operators/inventory/inventory.ts";
import { startInventoryGrpc } from "../src/operators/inventory/serving/listeners.ts";
import { createPublisher, inventoryPublishMs } from "../src/operators/inventory/serving/publisher.ts";
import { createSnapshots } from "../src/operators/inventory/serving/snapshot.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { openGrpcClient } from "../test/support/grpc-client.ts";
import { createOwner } from "../test/support/owner.ts";
import { manyNodes, sampleInventory, withOnePodMore } from "../test/support/samples/inventory-samples.ts";
import { cpuMs, percentile, report, round, size } from "./report.ts";

const nodeCount = size(1_000, 50);
const changes = size(200, 10);

export async function bench(): Promise<void> {
  const nodes = manyNodes(nodeCount);
  const change = (n: number) => {
    const index = n % nodes.length;
    nodes[index] = withOnePodMore(nodes[index] as NodeInventory);
    return sampleInventory([...nodes]);
  };
  const changeAll = () => {
    for (const [index, node] of nodes.entries()) nodes[index] = withOnePodMore(node);
    return sampleInventory([...nodes]);
  };
  const parts = measureParts(change, changeAll);
  const wire = await measureWire(change);
  const title = `publishing: what a change costs with ${nodeCount} nodes of eight GPUs each`;
  report(title, parts, { bench: "publishing", nodes: nodeCount, ...wire }, {});
}

/** Each form by itself, when one node changed and when all did. */
function measureParts(change: (n: number) => Inventory, changeAll: () => Inventory) {
  const snapshotOf = createSnapshots();
  type Made = ReturnType<typeof snapshotOf>;
  const forms: [name: string, make: (snapshot: Made) => number][] = [
    ["gRPC Cluster", (snapshot) => snapshot.clusterMessage().length],
    ["REST /v1/inventory", (snapshot) => snapshot.fullJson().length],
    ["bus", (snapshot) => Buffer.byteLength(JSON.stringify(snapshot.topics()))],
  ];
  return forms.map(([form, make]) => {
    let bytes = 0;
    /** Time on the processor: what others do on the machine at the same moment is not our cost. */
    const meanCpuMs = (times: number, next: (n: number) => Inventory) => {
      const snapshots = Array.from({ length: times }, (_, n) => snapshotOf(next(n)));
      const startMs = cpuMs(process.threadCpuUsage());
      for (const snapshot of snapshots) bytes = make(snapshot);
      return round((cpuMs(process.threadCpuUsage()) - startMs) / times);
    };
    meanCpuMs(10, changeAll);
    return { form, kB: round(bytes / 1e3, 0), oneMs: meanCpuMs(changes, change), allMs: meanCpuMs(10, changeAll) };
  });
}

/** From the snapshot to the last byte at a client of StreamCluster, with the bus taking its copy after it. */
async function measureWire(change: (n: number) => Inventory) {
  await using owner = createOwner();
  const bus = createMemoryBus({ clock: realClock, log: silentLog });
  const deps = { clock: realClock, log: silentLog, bus, waitingFor: () => undefined, ageMs: () => 0 };
  const publisher = createPublisher(deps);
  owner.after(() => publisher.close());
  const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
  owner.after(() => grpc.close());
  const client = openGrpcClient(owner, `http://127.0.0.1:${grpc.port}`);
  const { messages } = client.stream("/akash.inventory.v1.ClusterRPC/StreamCluster");
  const times: number[] = [];
  for (let n = 0; n < changes; n += 1) {
    // A change by itself; those that come in a row wait for the pace.
    await sleep(realClock, inventoryPublishMs);
    const startMs = performance.now();
    publisher.show(change(n));
    while (messages.length <= n) await realClock.yield();
    times.push(performance.now() - startMs);
  }
  return { streamMedianMs: round(percentile(times, 0.5)), streamP99Ms: round(percentile(times, 0.99)) };
}
