import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createProviderSDK } from "@akashnetwork/chain-sdk";
import { Cluster, Node } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { Code, ConnectError } from "@connectrpc/connect";
import { eventually } from "../../../../test/support/eventually.ts";
import { openGrpcClient } from "../../../../test/support/grpc-client.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import {
  manyNodes,
  sampleInventory,
  sampleNode,
  withOnePodMore,
} from "../../../../test/support/samples/inventory-samples.ts";
import { realClock } from "../../../runtime/clock.ts";
import { grpcCodes } from "../../../runtime/grpc/grpc-status.ts";
import { silentLog } from "../../../runtime/log.ts";
import type { NodeInventory } from "../inventory.ts";
import { ageHeader, startInventoryGrpc } from "./listeners.ts";
import { createPublisher } from "./publisher.ts";

const queryCluster = "/akash.inventory.v1.ClusterRPC/QueryCluster";
const streamCluster = "/akash.inventory.v1.ClusterRPC/StreamCluster";
const queryNode = "/akash.inventory.v1.NodeRPC/QueryNode";
const streamNode = "/akash.inventory.v1.NodeRPC/StreamNode";

async function start(owner: Owner, ageMs = () => 0) {
  const deps = { clock: realClock, log: silentLog, waitingFor: () => "nodes", ageMs };
  const publisher = createPublisher(deps);
  owner.after(() => publisher.close());
  const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
  owner.after(() => grpc.close());
  const url = `http://127.0.0.1:${grpc.port}`;
  return { publisher, grpc, url, ...openGrpcClient(owner, url) };
}

test("every response has the age of the snapshot in its metadata", async (t) => {
  let heardMsAgo = 12;
  const { publisher, call, stream } = await start(t, () => heardMsAgo);
  publisher.show(sampleInventory([sampleNode("one")]));
  for (const path of [queryCluster, queryNode]) assert.equal((await call(path)).headers[ageHeader], "12");
  heardMsAgo = 60_000;
  assert.equal((await call(queryCluster)).headers[ageHeader], "60000");
  for (const path of [streamCluster, streamNode]) {
    const open = stream(path);
    const [headers] = await once(open.stream, "response");
    assert.equal(headers[ageHeader], "60000");
    open.stream.close();
  }
});

/** The SDK has these calls; its types only show what tenants use. */
interface InventorySdk {
  readonly akash: {
    readonly inventory: {
      readonly v1: {
        queryCluster(): Promise<Cluster>;
        queryNode(input?: object, options?: { header?: Record<string, string> }): Promise<Node>;
        streamCluster(input?: object, options?: { signal?: AbortSignal }): Promise<AsyncIterable<Cluster>>;
      };
    };
  };
}

const allocatedCpu = (node: Node | undefined) => node?.resources?.cpu?.quantity?.allocated?.string;

test("the network's own client library reads the cluster and follows its changes", async (t) => {
  const { publisher, url } = await start(t);
  const sdk = createProviderSDK({ baseUrl: url }) as unknown as InventorySdk;
  const { v1 } = sdk.akash.inventory;
  await assert.rejects(v1.queryCluster(), (thrown: Error) => {
    const { code, rawMessage } = ConnectError.from(thrown.cause);
    return code === Code.Unavailable && /waits for nodes \(AKP_INVENTORY_NOT_READY\)/.test(rawMessage);
  });
  const abort = new AbortController();
  const stream = await v1.streamCluster({}, { signal: abort.signal });
  const seen: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const { nodes } of stream) seen.push(allocatedCpu(nodes[0]));
  })();
  const node = sampleNode();
  publisher.show(sampleInventory([node]));
  await eventually("the first snapshot", () => seen.length === 1);
  publisher.show(sampleInventory([withOnePodMore(node)]));
  await eventually("the change", () => seen.length === 2);
  assert.deepEqual(seen, ["32", "32250m"]);
  const { nodes, storage } = await v1.queryCluster();
  assert.deepEqual([nodes[0]?.name, storage[0]?.info?.class], ["node-1", "beta2"]);
  assert.equal((await v1.queryNode({}, { header: { node: "node-1" } })).name, "node-1");
  abort.abort();
  await assert.rejects(reading);
});

test("a stream begins with the current snapshot, and is silent while nothing changes", async (t) => {
  const { publisher, stream } = await start(t);
  publisher.show(sampleInventory());
  await publisher.next(undefined, AbortSignal.timeout(60_000));
  const first = stream(streamCluster);
  await eventually("the snapshot", () => first.messages.length === 1);
  const published = publisher.published;
  publisher.show(sampleInventory());
  await eventually("the equal snapshot to be current", () => publisher.snapshot() !== published);
  publisher.show(sampleInventory([withOnePodMore(sampleNode())]));
  await publisher.next(published, AbortSignal.timeout(60_000));
  await eventually("the change", () => first.messages.length === 2);
  assert.equal(publisher.publishedCount, 2);
});

test("a slow reader gets the newest snapshot next, without a backlog", async (t) => {
  const { publisher, open } = await start(t);
  const nodes = manyNodes(2_000);
  publisher.show(sampleInventory(nodes));
  const call = open(streamCluster, undefined);
  // As much as one window of HTTP/2 gets to the client; the rest of the first snapshot waits.
  call.stream.pause();
  call.stream.end(Buffer.alloc(5));
  await eventually("the stream to begin", () => publisher.published);
  let node = nodes[0] as NodeInventory;
  const changes = 4;
  for (let n = 0; n < changes; n += 1) {
    const before = publisher.published;
    node = withOnePodMore(node);
    publisher.show(sampleInventory([node, ...nodes.slice(1)]));
    await publisher.next(before, AbortSignal.timeout(60_000));
  }
  call.stream.resume();
  const newest = await eventually("the newest snapshot", () => {
    const last = call.messages.at(-1);
    const first = last && Cluster.decode(last).nodes[0];
    return allocatedCpu(first) === "33" && call.messages.length;
  });
  assert.ok(newest <= 3, `${newest} snapshots came while the reader was paused for ${changes} changes`);
});

test("a node is queried by its name, without a name the first is returned", async (t) => {
  const { publisher, call, stream } = await start(t);
  const nodes = [
    sampleNode("a", { offered: false, notOffered: [{ type: "Cordoned", message: "cordoned" }], storageClasses: [] }),
    sampleNode("b"),
    sampleNode("c"),
  ];
  publisher.show(sampleInventory(nodes));
  const ask = async (node?: string) => call(queryNode, undefined, node === undefined ? {} : { node });
  assert.equal(Node.decode((await ask("c")).message).name, "c");
  assert.equal(Node.decode((await ask()).message).name, "b");
  const away = await ask("a");
  assert.equal(away.status, grpcCodes.NotFound);
  assert.match(away.words, /no node a is offered: cordoned/);
  assert.match((await ask("d")).words, /no node d is offered: of 3 nodes, 2 are/);

  const { messages, ended } = stream(streamNode, { node: "c" });
  await eventually("the node", () => messages.length === 1);
  const [a, b, c] = nodes as [NodeInventory, NodeInventory, NodeInventory];
  const publish = async (...list: NodeInventory[]) => {
    const published = publisher.published;
    publisher.show(sampleInventory(list));
    await publisher.next(published, AbortSignal.timeout(60_000));
  };
  await publish(a, withOnePodMore(b), c);
  await publish(a, b, withOnePodMore(c));
  await eventually("its own change", () => messages.length === 2);
  await publish(a, b);
  const { status, messages: all } = await ended;
  assert.equal(status, grpcCodes.NotFound);
  assert.deepEqual(
    all.map((message) => allocatedCpu(Node.decode(message))),
    ["32", "32250m"],
  );
});

test("an empty cluster is a valid response, and its nodes are unknown", async (t) => {
  const { publisher, call } = await start(t);
  publisher.show(sampleInventory([]));
  assert.deepEqual(Cluster.decode((await call(queryCluster)).message).nodes, []);
  assert.equal((await call(queryNode)).status, grpcCodes.NotFound);
});

test("health reports whether there is a snapshot", async (t) => {
  const { publisher, call } = await start(t);
  const service = "akash.inventory.v1.ClusterRPC";
  const request = Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);
  const check = async () => (await call("/grpc.health.v1.Health/Check", request)).message.at(1);
  assert.equal(await check(), 2);
  publisher.show(sampleInventory());
  await publisher.next(undefined, AbortSignal.timeout(60_000));
  assert.equal(await check(), 1);
});
