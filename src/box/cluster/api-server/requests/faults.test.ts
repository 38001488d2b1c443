import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionOf } from "../../../../../test/support/kube/kube-definition.ts";
import { configMap, follow, rejection } from "../../../../../test/support/kube/kube-objects.ts";
import { namespace, simulateKube } from "../../../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../../../test/support/owner.ts";
import { createVirtualClock } from "../../../../../test/support/virtual-clock.ts";
import { kinds } from "../../../../kube/kinds.ts";

async function stage(owner: Owner) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock });
  // What the cluster puts into a namespace by itself is there from now on.
  await clock.settle();
  const kube = cluster.connect("akash-provider");
  const put = (name: string, n: string) => kube.apply(kinds.configMap, configMap(namespace, name, { n }));
  return { clock, cluster, kube, put, faults: cluster.faults };
}

test("a lagging watch sends all events late and in order, while reads are current", async (t) => {
  const { clock, kube, put, faults } = await stage(t);
  const { cache, changes } = follow(t, kube, namespace);
  await clock.advanceUntil(() => cache.ready, 1_000);
  changes.length = 0;
  faults.lagWatches(5_000);
  await put("a", "1");
  await clock.advance(3_000);
  await put("a", "2");
  // What was late already stays before what comes when all is well again.
  faults.clear();
  await put("a", "3");
  await clock.advance(1_900);
  assert.deepEqual(changes, []);
  assert.equal((await kube.get(kinds.configMap, { namespace, name: "a" }))?.["data"]?.["n" as never], "3");
  await clock.advance(3_200);
  assert.deepEqual(changes, ["added a 1", "modified a 2", "modified a 3"]);
});

test("a change at the very moment when a late event is due is sent after it", async (t) => {
  const { clock, cluster, kube, put, faults } = await stage(t);
  const { cache, changes } = follow(t, kube, namespace);
  await clock.advanceUntil(() => cache.ready, 1_000);
  changes.length = 0;
  faults.lagWatches(300);
  clock.timer(300, () => {
    faults.clear();
    cluster.server.create(kinds.configMap, configMap(namespace, "b", { n: "2" }), "test");
  });
  await put("a", "1");
  await clock.advance(300);
  assert.deepEqual(changes, ["added a 1", "added b 2"]);
});

test("a write whose answer is lost was done all the same", async (t) => {
  const { kube, cluster, faults } = await stage(t);
  const at = { namespace, name: "a" };
  faults.loseAnswer({ verb: "create", kind: kinds.configMap });
  await rejection(kube.create(kinds.configMap, configMap(namespace, "a", {})), "AKP_KUBE_UNREACHABLE");
  assert.ok(cluster.server.get(kinds.configMap, at));
  await kube.create(kinds.configMap, configMap(namespace, "b", {}));
});

test("a restored store has its old objects, kinds and versions, and sends nothing to a watch of later ones", async (t) => {
  const { clock, kube, cluster, put, faults } = await stage(t);
  await put("kept", "1");
  const before = cluster.server.get(kinds.configMap, { namespace, name: "kept" })?.metadata.resourceVersion;
  await put("kept", "2");
  await put("new", "1");
  await kube.delete(kinds.configMap, { namespace, name: "kept" });
  const kind = { group: "example.com", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };
  await kube.create(kinds.customResourceDefinition, definitionOf(kind));
  const list = await cluster.transport().send({
    method: "GET",
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    headers: {},
    body: undefined,
    verb: "list",
    resource: "configmaps",
  });
  const { metadata } = JSON.parse(Buffer.concat(await list.body.toArray()).toString());
  const versions = Number(metadata.resourceVersion) - Number(before);
  faults.goBack(versions);
  assert.equal(cluster.server.get(kinds.configMap, { namespace, name: "new" }), undefined);
  const kept = cluster.server.get(kinds.configMap, { namespace, name: "kept" });
  assert.deepEqual([kept?.metadata.resourceVersion, kept?.["data"]], [before, { n: "1" }]);
  await rejection(kube.list(kind), "AKP_KUBE_KIND_MISSING");
  const watch = await cluster.transport().send({
    method: "GET",
    path: `/api/v1/namespaces/${namespace}/configmaps?watch=1&timeoutSeconds=60&allowWatchBookmarks=1&resourceVersion=${metadata.resourceVersion}`,
    headers: {},
    body: undefined,
    verb: "watch",
    resource: "configmaps",
  });
  const { object } = await put("kept", "3");
  assert.equal(object?.metadata.resourceVersion, String(Number(before) + 1));
  await clock.advance(61_000);
  assert.deepEqual(await watch.body.toArray(), []);
});
