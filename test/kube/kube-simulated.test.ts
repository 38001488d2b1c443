import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { checkKubeContract } from "../support/contracts/kube.contract.ts";
import { checkMetrics } from "../support/contracts/kube-metrics.contract.ts";
import { box, namespace, simulateBox, simulateKube } from "../support/kube/simulated-kube.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

checkKubeContract({
  name: "the simulated cluster",
  skip: false,
  async open(owner) {
    const { connect } = await simulateBox(owner);
    return { kube: connect("akash-provider"), connect, namespace, pod: box };
  },
});

const one = { name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 36n };

test("what runs is measured a while after its start, and the metrics API shows it as the real one does", async (t) => {
  const clock = createVirtualClock();
  const uses = { cpuNano: 120_000_001n, memoryBytes: 40n * 2n ** 20n };
  const behaviour = (image: string) => (image === "busy" ? { uses } : undefined);
  const cluster = simulateKube(t, { clock, nodes: [one], behaviour, metrics: { afterMs: 15_000 } });
  const resources = { requests: { cpu: "100m", memory: "64Mi" } };
  for (const name of ["busy", "idle"]) {
    const containers = [{ name: "main", image: name, resources }];
    cluster.server.create(kinds.pod, { metadata: { namespace, name, labels: { app: name } }, spec: { containers } });
  }
  const kube = cluster.connect("test");
  await clock.advance(10_000);
  assert.deepEqual(await kube.list(kinds.podMetrics), [], "not measured yet");
  await clock.advance(10_000);
  const busy = await kube.get(kinds.podMetrics, { namespace, name: "busy" });
  const usage = { cpu: "120000001n", memory: "40960Ki" };
  assert.deepEqual(busy?.["containers"], [{ name: "main", usage }]);
  await checkMetrics(kube, { namespace, name: "idle", labelSelector: "app=idle" });
});
