/** A real API server whose etcd is restored from a backup. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { kubeStaleMs } from "../../src/kube/client/list-watch.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { configMap } from "../support/contracts/kube.contract.ts";
import { eventually } from "../support/eventually.ts";
import { openKube } from "./open-kube.ts";

const namespace = "default";
/** So many that the server, which writes a few of its own when it starts, is not past them soon. */
const lostChanges = 500;

test("after etcd was restored from a backup a watch lets go of what was lost, within a minute of the server's return", {
  skip: controlPlaneMissing(),
}, async (t) => {
  const plane = await startControlPlane(t);
  const kube = openKube(t, plane.kubeconfig);
  await kube.create(kinds.configMap, configMap(namespace, "kept", {}));
  const restore = await plane.backUp();
  for (let n = 0; n < lostChanges; n += 1) {
    await kube.apply(kinds.configMap, configMap(namespace, "lost", { n: String(n) }), { live: null });
  }
  const names: string[] = [];
  const cache = kube.watch({
    kind: kinds.configMap,
    namespace,
    project: ({ metadata }) => metadata.name,
    handle: ({ type, name }) => void names.push(`${type} ${name}`),
  });
  await cache.synced();
  assert.deepEqual([...cache.list()].toSorted(), ["kept", "lost"]);
  await restore();
  await kube.create(kinds.configMap, configMap(namespace, "new", {}));
  const isAsRestored = () => [...cache.list()].toSorted().join() === "kept,new";
  await eventually("what was restored", isAsRestored, kubeStaleMs);
  assert.ok(names.includes("deleted lost"));
  assert.equal(cache.error, undefined);
  assert.equal(cache.counts.relists, 1);
  await kube.create(kinds.configMap, configMap(namespace, "next", {}));
  await eventually("the next change", () => cache.size === 3);
});
