import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import { temporaryFolder } from "../../test/support/folder.ts";
import { startKubeHttpServer } from "../../test/support/kube-http-server.ts";
import { createSimulatedCluster } from "../box/cluster/simulated-kube.ts";
import { kinds } from "../kube/kinds.ts";
import { discoveryPodName } from "../operators/inventory/nodes/discovery-pod.ts";
import { realClock } from "../runtime/clock.ts";
import { type Fields, type Log, silentLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { createInventoryProcess } from "./inventory-process.ts";

/** Ends with the test. */
function start(t: TestContext, kubeconfig: string, log: Log = silentLog): void {
  const stopping = new AbortController();
  const port = { value: 0, given: true };
  const running = createInventoryProcess({
    kubeconfig,
    environment: {},
    host: "127.0.0.1",
    restPort: port,
    grpcPort: port,
    apiTimeoutMs: 3_000,
    podName: "operator-inventory-0",
    podNamespace: "akash-services",
    config: undefined,
    registry: undefined,
    registryPeriodMs: 300_000,
    discoveryImage: { value: "someone-elses", given: false },
    discoveryPort: 8081,
    discoveryNamespace: "akash-discovery",
    discoveryPrivileged: true,
    version: "0.0.0",
    shutdownMs: 5_000,
    clock: realClock,
    random: realRandom,
    log,
  }).run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
}

test("a pod whose ports are named answers before it has reached the cluster, and says what it waits for", async (t) => {
  const lines: (Fields | undefined)[] = [];
  const log: Log = { ...silentLog, info: (_, fields) => void lines.push(fields), with: () => log };
  const kubeconfig = join(temporaryFolder(t), "kubeconfig");
  start(t, kubeconfig, log);
  const address = await eventually("the address", () => lines.find((fields) => fields?.["rest"])?.["rest"]);
  assert.equal((await fetch(`http://${address}/health`)).status, 200);
  const ready = await fetch(`http://${address}/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), new RegExp(`there is no kubeconfig: ${kubeconfig}`));
});

test("discovery pods have the image and the pull secrets of the operator's own pod", async (t) => {
  const nodes = [{ name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 35n, ephemeralBytes: 2n ** 37n }];
  const cluster = createSimulatedCluster({ nodes }, { clock: realClock, random: realRandom, log: silentLog });
  t.after(() => cluster.close());
  const { server } = cluster;
  for (const name of ["akash-services", "akash-discovery"])
    server.create(kinds.namespace, { metadata: { name } }, "test");
  const own = {
    metadata: { name: "operator-inventory-0", namespace: "akash-services" },
    spec: {
      containers: [{ name: "operator-inventory", image: "own:1" }],
      imagePullSecrets: [{ name: "registry" }],
    },
  };
  server.create(kinds.pod, own, "test");
  const face = await startKubeHttpServer(t, cluster);
  start(t, face.writeKubeconfig(temporaryFolder(t)));
  const at = { namespace: "akash-discovery", name: discoveryPodName("one") };
  const pod = await eventually("a discovery pod", () => server.get(kinds.pod, at));
  assert.partialDeepStrictEqual(pod["spec"], {
    containers: [{ image: "own:1" }],
    imagePullSecrets: [{ name: "registry" }],
  });
});
