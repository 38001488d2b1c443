import assert from "node:assert/strict";
import { test } from "node:test";
import { createSimulatedCluster } from "../../box/cluster/simulated-kube.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { realClock } from "../../runtime/clock.ts";
import { silentLog } from "../../runtime/log.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import { locateInventory } from "./locate-operator.ts";

const { signal } = new AbortController();
const noKube = new Promise<Kube>(() => undefined);

test("where the settings say it is, nobody else is asked", async () => {
  const endpoint = { host: "10.0.0.5", port: 8081 };
  assert.deepEqual(await locateInventory({ endpoint, inCluster: false, kube: noKube }, signal), endpoint);
});

test("from outside of the cluster it cannot be found, and that says which setting helps", async () => {
  await assert.rejects(locateInventory({ endpoint: undefined, inCluster: false, kube: noKube }, signal), {
    code: "AKP_OPERATOR_NOT_FOUND",
    message: /outside of the cluster .* --inventory-operator-endpoint is needed$/,
  });
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
  const labels = {
    "app.kubernetes.io/name": "inventory",
    "app.kubernetes.io/instance": "inventory-service",
    "app.kubernetes.io/component": "operator",
    "app.kubernetes.io/part-of": "provider",
  };
  service("operator-hostname", { ...labels, "app.kubernetes.io/name": "hostname" }, "grpc");
  await assert.rejects(find(), /no Service in akash-services has the labels app.kubernetes.io\/name=inventory,/);
  service("operator-inventory", labels, "web");
  await assert.rejects(find(), /operator-inventory in akash-services has no port named grpc/);
  cluster.server.delete(kinds.service, { namespace: "akash-services", name: "operator-inventory" });
  service("operator-inventory", labels, "grpc");
  assert.deepEqual(await find(), { host: "operator-inventory.akash-services.svc.cluster.local", port: 8081 });
});
