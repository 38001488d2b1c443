import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import {
  type ClusterStage,
  clusterStage,
  deployment,
  isRunningAndReady,
  podObject,
  statefulSet,
} from "../support/stages/simulated-cluster-stage.ts";

const at = (name: string) => ({ namespace: "default", name });

async function withDeployment(stage: ClusterStage): Promise<void> {
  stage.server.create(kinds.deployment, deployment("web", 2), "test");
  await stage.until(() => stage.pods().filter(isRunningAndReady).length === 2);
}

function configMap(name: string, namespace: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, ...more }, data: {} };
}

test("what belongs to a deleted deployment goes after it", async (t) => {
  const stage = clusterStage(t);
  await withDeployment(stage);
  stage.server.delete(kinds.deployment, at("web"));
  assert.equal(stage.get(kinds.deployment, "web"), undefined);
  await stage.until(() => stage.pods().length === 0);
});

test("a deployment deleted in the foreground stays until its pods are gone", async (t) => {
  const stage = clusterStage(t);
  await withDeployment(stage);
  stage.server.delete(kinds.deployment, at("web"), { propagation: "Foreground" });
  await stage.clock.settle();
  assert.notEqual(stage.get(kinds.deployment, "web")?.metadata.deletionTimestamp, undefined);
  assert.equal(stage.pods().length, 2);
  const order: string[] = [];
  stage.server.subscribe(({ type, kind }) => {
    if (type === "deleted" && kind !== kinds.event) order.push(kind.kind);
  });
  await stage.until(() => stage.get(kinds.deployment, "web") === undefined);
  assert.deepEqual(order, ["Pod", "Pod", "Deployment"]);
});

test("a deployment that leaves orphans leaves them running", async (t) => {
  const stage = clusterStage(t);
  await withDeployment(stage);
  const before = stage.pods().map(({ metadata }) => metadata.uid);
  stage.server.delete(kinds.deployment, at("web"), { propagation: "Orphan" });
  await stage.clock.advance(60_000);
  assert.equal(stage.get(kinds.deployment, "web"), undefined);
  assert.deepEqual(
    stage.pods().map(({ metadata }) => metadata.uid),
    before,
  );
});

test("an object with several owners stays as long as one of them is there", async (t) => {
  const { server, clock, get } = clusterStage(t);
  const owners = ["a", "b"].map((name) => server.create(kinds.configMap, configMap(name, "default"), "test"));
  const ownerReferences = owners.map(({ metadata: { name, uid = "" } }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    uid,
  }));
  server.create(
    kinds.configMap,
    { ...configMap("shared", "default"), metadata: { ...at("shared"), ownerReferences } as never },
    "test",
  );
  server.delete(kinds.configMap, at("a"));
  await clock.settle();
  const { metadata } = get(kinds.configMap, "shared") ?? {};
  assert.deepEqual(
    (metadata as { ownerReferences?: { name: string }[] }).ownerReferences?.map(({ name }) => name),
    ["b"],
  );
  server.delete(kinds.configMap, at("b"));
  await clock.settle();
  assert.equal(get(kinds.configMap, "shared"), undefined);
});

test("an object whose owner was never there goes at once", async (t) => {
  const { server, clock, get } = clusterStage(t);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "missing", uid: "no-such-uid" }];
  server.create(
    kinds.configMap,
    { ...configMap("lost", "default"), metadata: { ...at("lost"), ownerReferences } as never },
    "test",
  );
  await clock.settle();
  assert.equal(get(kinds.configMap, "lost"), undefined);
});

test("every namespace has a service account and the authority's certificate, also when another client deletes them", async (t) => {
  const { server, clock, get } = clusterStage(t);
  server.create(kinds.namespace, { metadata: { name: "tenant" } }, "test");
  await clock.settle();
  assert.ok(get(kinds.serviceAccount, "default", "tenant"));
  assert.ok(get(kinds.configMap, "kube-root-ca.crt", "tenant"));
  server.delete(kinds.configMap, { namespace: "tenant", name: "kube-root-ca.crt" });
  await clock.settle();
  assert.ok(get(kinds.configMap, "kube-root-ca.crt", "tenant"));
});

test("a deleted namespace takes everything with it, pods within their grace, and custom resources", async (t) => {
  const { server, clock, get, pods, until } = clusterStage(t, { behaviour: () => ({ stopMs: 5_000 }) });
  server.create(kinds.namespace, { metadata: { name: "tenant" } }, "test");
  server.create(kinds.customResourceDefinition, definition, "test");
  server.create(thing, { metadata: { name: "it", namespace: "tenant" } }, "test");
  server.create(kinds.deployment, deployment("web", 2, { namespace: "tenant" }), "test");
  server.create(kinds.statefulSet, statefulSet("db", 1, { namespace: "tenant" }), "test");
  server.create(kinds.pod, podObject("alone", { namespace: "tenant" }), "test");
  await until(() => pods("tenant").filter(isRunningAndReady).length === 4);
  server.delete(kinds.namespace, { name: "tenant" });
  await clock.advance(1_000);
  const status = get(kinds.namespace, "tenant")?.["status"] as { phase: string } | undefined;
  assert.equal(status?.phase, "Terminating");
  assert.equal(pods("tenant").length, 4);
  assert.equal(server.list(thing).length, 0);
  await until(() => get(kinds.namespace, "tenant") === undefined, 60_000);
  for (const kind of [kinds.pod, kinds.configMap, kinds.replicaSet, kinds.event]) {
    assert.equal(server.list(kind, { namespace: "tenant" }).length, 0, kind.kind);
  }
});

test("a namespace stays as long as something in it has a finalizer, and says so", async (t) => {
  const { server, clock, get } = clusterStage(t);
  server.create(kinds.namespace, { metadata: { name: "tenant" } }, "test");
  const held = server.create(
    kinds.configMap,
    configMap("held", "tenant", { finalizers: ["example.com/hold"] }),
    "test",
  );
  server.delete(kinds.namespace, { name: "tenant" });
  await clock.advance(3_600_000);
  const status = get(kinds.namespace, "tenant")?.["status"] as
    | { conditions: { status: string; message: string }[] }
    | undefined;
  assert.deepEqual(
    status?.conditions.filter((each) => each.status === "True").map(({ message }) => message),
    [
      "Some resources are remaining: configmaps. has 1 resource instances",
      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    ],
  );
  const { metadata } = get(kinds.configMap, "held", "tenant") ?? held;
  server.update(kinds.configMap, { ...held, metadata: { ...metadata, finalizers: [] } }, "test");
  await clock.settle();
  assert.equal(get(kinds.namespace, "tenant"), undefined);
});

const thing = { group: "example.com", version: "v1", kind: "Thing", plural: "things", namespaced: true };

const definition: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
