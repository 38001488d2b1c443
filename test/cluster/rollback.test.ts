/** Going back to the Go provider and coming again, on a simulated cluster with controllers and a kubelet. */
import assert from "node:assert/strict";
import { kinds } from "../../src/kube/kinds.ts";
import { checkPodsSurviveRollback } from "../support/contracts/rollback.contract.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import { shop } from "../support/stages/lease-keeper-stage.ts";

/** A deployment, and a stateful set with a volume. */
const [group] = shop({ permissions: true }).manifest;
assert.ok(group);

const node = {
  ...{ name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 40n },
  labels: { "akash.network": "true", "akash.network/capabilities.storage.class.beta3": "1" },
};
const storage = { provisioner: "rancher.io/local-path", volumeBindingMode: "WaitForFirstConsumer" };

checkPodsSurviveRollback({
  server: "the simulated cluster",
  open(owner) {
    const behaviour = () => ({ pullMs: 0, startMs: 0, stopMs: 0 });
    const { server, connect } = simulateKube(owner, { nodes: [node], behaviour });
    server.create(kinds.storageClass, { metadata: { name: "beta3" }, ...storage }, "operator");
    return connect;
  },
  group,
  podsRunWithinMs: 4_000,
});
