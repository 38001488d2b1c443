import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { type ClusterStage, clusterStage, deployment } from "../support/stages/simulated-cluster-stage.ts";

interface Slice extends KubeObject {
  readonly endpoints: readonly {
    readonly conditions: { readonly ready: boolean };
    readonly targetRef: { name: string };
  }[];
  readonly ports: readonly object[];
}

function slices({ server }: ClusterStage): Slice[] {
  return server.list(kinds.endpointSlice, { namespace: "default" }) as Slice[];
}

const ready = (stage: ClusterStage) => slices(stage)[0]?.endpoints.filter(({ conditions }) => conditions.ready).length;

test("the pods behind a Service are in its slice, and go with the Service", async (t) => {
  const stage = clusterStage(t);
  const { server, until, pods } = stage;
  const metadata = { name: "web", namespace: "default" };
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  server.create(kinds.service, { metadata, spec: { selector: { app: "web" }, ports } }, "test");
  server.create(kinds.deployment, deployment("web", 2), "test");
  server.create(kinds.deployment, deployment("other", 1), "test");
  await until(() => ready(stage) === 2);
  const [slice] = slices(stage);
  assert.equal(slice?.metadata.labels?.["kubernetes.io/service-name"], "web");
  assert.deepEqual(slice?.ports, [{ name: "http", port: 8080, protocol: "TCP" }]);
  const behind = slice.endpoints.map(({ targetRef }) => targetRef.name);
  assert.ok(behind.every((name) => name.startsWith("web-")));
  // One that goes is ready no more, and its successor takes its place.
  server.delete(kinds.pod, { namespace: "default", name: behind[0] ?? "" });
  await until(() => ready(stage) === 1);
  await until(() => ready(stage) === 2 && pods().length === 3);
  server.delete(kinds.service, metadata);
  await until(() => slices(stage).length === 0);
});

test("a Service that selects nothing has no slice, and one without pods an empty one", async (t) => {
  const stage = clusterStage(t);
  const ports = [{ port: 80 }];
  for (const [name, selector] of [
    ["by-hand", undefined],
    ["empty", { app: "missing" }],
  ] as const) {
    const spec = { ...(selector && { selector }), ports };
    stage.server.create(kinds.service, { metadata: { name, namespace: "default" }, spec }, "test");
  }
  await stage.until(() => slices(stage).length > 0);
  await stage.clock.settle();
  assert.deepEqual(
    slices(stage).map(({ metadata, endpoints }) => [metadata.labels?.["kubernetes.io/service-name"], endpoints]),
    [["empty", []]],
  );
});
