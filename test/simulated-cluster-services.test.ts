import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import type { EndpointSlice } from "../src/kube/simulated/cluster/shapes/network.ts";
import { type ClusterStage, clusterStage, deployment, isRunningAndReady, node } from "./simulated-cluster-stage.ts";

function service(name: string, targetPort: number | string = 80): KubeObject {
  const ports = [{ name: "http", port: 80, targetPort }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { selector: { app: name }, ports },
  };
}

function slicesOf({ server }: ClusterStage, name: string): EndpointSlice[] {
  const selection = { namespace: "default", labelSelector: `kubernetes.io/service-name=${name}` };
  return server.list(kinds.endpointSlice, selection) as EndpointSlice[];
}

function endpointsOf(stage: ClusterStage, name: string): string[] {
  const all = slicesOf(stage, name).flatMap(({ endpoints }) => endpoints);
  return all.map(({ targetRef, conditions }) => `${targetRef?.name} ${conditions.ready}`).sort();
}

test("the pods of a service are its endpoints, with their addresses, as soon as they are ready", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, get, until, clock } = stage;
  server.create(kinds.service, service("web"), "test");
  server.create(kinds.deployment, deployment("web", 2), "test");
  await clock.settle();
  assert.deepEqual(
    endpointsOf(stage, "web"),
    pods().map(({ metadata }) => `${metadata.name} false`),
  );
  await until(() => pods().filter(isRunningAndReady).length === 2);
  await clock.settle();
  assert.deepEqual(
    endpointsOf(stage, "web"),
    pods().map(({ metadata }) => `${metadata.name} true`),
  );
  const [slice] = slicesOf(stage, "web");
  assert.deepEqual(slice?.ports, [{ name: "http", port: 80, protocol: "TCP" }]);
  assert.deepEqual(
    new Set(slice?.endpoints.map(({ addresses }) => addresses[0])),
    new Set(pods().map(({ status }) => status?.podIP)),
  );
  const older = get(kinds.endpoints, "web")?.["subsets"] as { addresses: { ip: string }[] }[];
  assert.equal(older[0]?.addresses.length, 2);
});

test("a pod on its way out is no longer ready for anybody, and then gone", async (t) => {
  const stage = clusterStage(t, { behaviour: () => ({ stopMs: 5_000 }) });
  const { server, pods, until, clock } = stage;
  server.create(kinds.service, service("web"), "test");
  server.create(kinds.deployment, deployment("web", 1), "test");
  await until(() => pods().filter(isRunningAndReady).length === 1);
  const [name = ""] = pods().map(({ metadata }) => metadata.name);
  server.delete(kinds.pod, { namespace: "default", name });
  await clock.settle();
  const leaving = slicesOf(stage, "web")
    .flatMap(({ endpoints }) => endpoints)
    .find(({ targetRef }) => targetRef?.name === name);
  assert.deepEqual(leaving?.conditions, { ready: false, serving: true, terminating: true });
  await clock.advance(10_000);
  assert.deepEqual(
    endpointsOf(stage, "web").map((each) => each.startsWith(name)),
    [false],
  );
});

test("a port given by name is that of the container", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, until, clock } = stage;
  const containers = [{ name: "web", image: "web:1", ports: [{ name: "app", containerPort: 8080 }] }];
  server.create(kinds.service, service("web", "app"), "test");
  server.create(kinds.deployment, deployment("web", 1, { containers }), "test");
  await until(() => pods().some(isRunningAndReady));
  await clock.settle();
  assert.equal(slicesOf(stage, "web")[0]?.ports[0]?.port, 8080);
});

test("endpoints are cut into slices of a hundred, and one pod's change touches one of them", async (t) => {
  const nodes = [node("one", { cpuMilli: 64_000n, pods: 250 })];
  const stage = clusterStage(t, { nodes });
  const { server, pods, until, clock } = stage;
  server.create(kinds.service, service("web"), "test");
  server.create(kinds.deployment, deployment("web", 120), "test");
  await until(() => pods().filter(isRunningAndReady).length === 120);
  await clock.settle();
  assert.deepEqual(
    slicesOf(stage, "web")
      .map(({ endpoints }) => endpoints.length)
      .sort(),
    [100, 20],
  );
  const touched = new Set<string>();
  server.subscribe(({ kind, object }) => {
    if (kind === kinds.endpointSlice) touched.add(object.metadata.name);
  });
  server.delete(kinds.pod, { namespace: "default", name: pods()[0]?.metadata.name ?? "" }, { graceSeconds: 0 });
  await clock.advance(10_000);
  assert.equal(endpointsOf(stage, "web").length, 120);
  assert.ok(touched.size <= 2);
});

test("a deleted service takes its endpoints with it", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, get, until, clock } = stage;
  server.create(kinds.service, service("web"), "test");
  server.create(kinds.deployment, deployment("web", 1), "test");
  await until(() => pods().some(isRunningAndReady));
  server.delete(kinds.service, { namespace: "default", name: "web" });
  await clock.settle();
  assert.equal(slicesOf(stage, "web").length, 0);
  assert.equal(get(kinds.endpoints, "web"), undefined);
});

test("the API server itself is a service, with endpoints that policies can name", (t) => {
  const { get } = clusterStage(t);
  const subsets = get(kinds.endpoints, "kubernetes")?.["subsets"] as { addresses: unknown[]; ports: unknown[] }[];
  assert.deepEqual(subsets[0]?.addresses, [{ ip: "192.168.9.1" }]);
  assert.deepEqual(subsets[0]?.ports, [{ name: "https", port: 6443, protocol: "TCP" }]);
});
