import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import { simulateKube } from "../../../../test/support/kube/simulated-kube.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createSimulatedCluster } from "../../../box/cluster/simulated-kube.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { realClock } from "../../../runtime/clock.ts";
import { silentLog } from "../../../runtime/log.ts";
import { locateInventory } from "./grpc-feed.ts";

const { signal } = new AbortController();
const labels = {
  "app.kubernetes.io/name": "inventory",
  "app.kubernetes.io/instance": "inventory-service",
  "app.kubernetes.io/component": "operator",
  "app.kubernetes.io/part-of": "provider",
};
const noKube = new Promise<Kube>(() => undefined);

test("endpoint in the settings → no look-up in the cluster", async () => {
  const endpoint = { host: "10.0.0.5", port: 8081 };
  assert.deepEqual(await locateInventory({ endpoint, inCluster: false, kube: noKube }, signal), endpoint);
});

test("in the cluster it is found by the labels of its Service, in the network's chart and ours", async (t) => {
  const cluster = createSimulatedCluster(
    { nodes: [] },
    { clock: realClock, random: createSeededRandom(1), log: silentLog },
  );
  t.after(() => cluster.close());
  const kube = Promise.resolve(cluster.connect("akash-provider"));
  const find = () => locateInventory({ endpoint: undefined, inCluster: true, kube }, signal);
  cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  const service = (name: string, labels: Record<string, string>, port: string) => {
    const metadata = { namespace: "akash-services", name, labels };
    const ports = [
      { name: "rest", port: 8080 },
      { name: port, port: 8081 },
    ];
    cluster.server.create(kinds.service, { metadata, spec: { ports } }, "test");
  };
  service("operator-hostname", { ...labels, "app.kubernetes.io/name": "hostname" }, "grpc");
  await assert.rejects(find(), /no Service in akash-services has the labels app.kubernetes.io\/name=inventory,/);
  service("operator-inventory", labels, "web");
  await assert.rejects(find(), /operator-inventory in akash-services has no port named grpc/);
  cluster.server.delete(kinds.service, { namespace: "akash-services", name: "operator-inventory" });
  service("operator-inventory", labels, "grpc");
  assert.deepEqual(await find(), { host: "operator-inventory.akash-services.svc.cluster.local", port: 8081 });
});

test("outside the cluster it is reached through the API server, at a ready pod behind its Service", async (t) => {
  const server = createServer((socket) => void socket.end("inventory")).listen(0, "127.0.0.1");
  t.after(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dialed: number[] = [];
  const connect = (wanted: number) => {
    dialed.push(wanted);
    return dial(port, "127.0.0.1");
  };
  const node = { name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 36n };
  const cluster = simulateKube(t, { nodes: [node], behaviour: () => ({ pullMs: 0, startMs: 0, connect }) });
  const kube = Promise.resolve(cluster.connect("akash-provider"));
  const find = () => locateInventory({ endpoint: undefined, inCluster: false, kube }, signal);
  const namespace = "akash-services";
  cluster.server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
  await assert.rejects(find(), /no Service in akash-services has the labels/);
  const ports = [{ name: "grpc", port: 8081, targetPort: "grpc" }];
  const metadata = { namespace, name: "operator-inventory", labels };
  cluster.server.create(kinds.service, { metadata, spec: { ports, selector: { app: "inventory" } } }, "test");
  await assert.rejects(find(), /no pod behind the Service operator-inventory in akash-services is ready/);
  const containers = [{ name: "operator", image: "i:1", ports: [{ name: "grpc", containerPort: 9081 }] }];
  const pod = { metadata: { namespace, name: "operator-0", labels: { app: "inventory" } }, spec: { containers } };
  cluster.server.create(kinds.pod, pod, "test");
  const connection = await eventually("the pod is ready", () => find().catch(() => undefined));
  assert.equal(await text(connection as Duplex), "inventory");
  assert.deepEqual(dialed, [9_081]);
});
