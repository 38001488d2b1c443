/** What becomes of a lease's workload, from its manifest to its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { memoryFolder } from "./folder.ts";
import { leaseStage, shop } from "./lease-keeper-stage.ts";

test("a lease with a manifest becomes a namespace with its workloads, and goes when the chain says that it is over", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const { cluster, until } = stage;
  const life = await stage.start();
  const lease = stage.won(1);
  await life.step(lease);
  assert.equal(life.state(lease), "waiting for manifest");
  assert.equal(cluster.server.get(kinds.namespace, { name: leaseNamespace(lease) }), undefined);

  await life.send(lease, shop().manifest);
  await until("deployed", () => life.state(lease) === "deployed");
  assert.deepEqual(
    [...stage.objects(lease).keys()].filter((name) => !name.includes("claims") && name !== "serviceaccounts default"),
    [
      "deployments page",
      "statefulsets store",
      "services page",
      "services store",
      "networkpolicies akash-deployment-restrictions",
      "serviceaccounts page",
      "serviceaccounts store",
    ],
  );
  await until("its pods", () => stage.pods(lease).length === 2);
  assert.ok(cluster.server.get(kinds.manifest, { namespace: "lease", name: leaseNamespace(lease) }));

  stage.becomes(lease, "closed");
  await life.step(lease);
  await until("gone", () => cluster.server.get(kinds.namespace, { name: leaseNamespace(lease) }) === undefined);
  await until("forgotten", () => life.state(lease) === undefined);
  assert.equal(cluster.server.get(kinds.manifest, { namespace: "lease", name: leaseNamespace(lease) }), undefined);
  assert.equal(life.journal.read.manifests.get(formatLeaseId(lease)), undefined);
  const lines = life.journal.read.history.about(formatLeaseId(lease), 10).map(({ line }) => line);
  assert.match(lines[0] ?? "", /^torn down: closed on chain since height 9, by a reading at height 10$/);
  assert.match(lines[1] ?? "", /^deployed: manifest [0-9a-f]{64}$/);
});
