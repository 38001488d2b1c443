/** Going back to the network's provider and coming again, on a simulated cluster with controllers and a kubelet. */
import assert from "node:assert/strict";
import { checkPodsReturning } from "./going-back.contract.ts";
import { shop } from "./lease-keeper-stage.ts";
import { simulateKube } from "./simulated-kube.ts";

const [group] = shop({ permissions: true, persistent: false }).manifest;
assert.ok(group);

const node = {
  ...{ name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 40n },
  labels: { "akash.network": "true" },
};

checkPodsReturning({
  server: "the simulated cluster",
  open: (owner) =>
    simulateKube(owner, { nodes: [node], behaviour: () => ({ pullMs: 0, startMs: 0, stopMs: 0 }) }).connect,
  group,
  podsRunWithinMs: 4_000,
});
