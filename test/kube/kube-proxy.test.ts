/** HTTP to what runs in the simulated cluster, through its API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { box, namespace, simulateBox } from "../support/kube/simulated-kube.ts";

test("a pod and a service that leads to it answer", async (t) => {
  const cluster = await simulateBox(t, { http: ({ path }) => ({ body: `you requested ${path}` }) });
  const kube = cluster.connect("akash-provider");
  const target = { kind: "pod", ...box, port: 80 } as const;
  const ofPod = await kube.proxy(target, { path: "/status?full=1" });
  assert.equal(ofPod.body.toString(), "you requested /status?full=1");
  cluster.server.create(
    kinds.service,
    { metadata: box, spec: { selector: { app: "box" }, ports: [{ name: "http", port: 8080, targetPort: 80 }] } },
    "test",
  );
  for (const port of [8080, "http"]) {
    const ofService = await eventually("an endpoint", async () => {
      const answer = await kube.proxy({ kind: "service", ...box, port });
      return answer.status === 200 && answer;
    });
    assert.equal(ofService.body.toString(), "you requested /");
  }
});

test("where nothing listens, the answer says so", async (t) => {
  const cluster = await simulateBox(t);
  const kube = cluster.connect("akash-provider");
  cluster.server.create(
    kinds.service,
    { metadata: { namespace, name: "empty" }, spec: { ports: [{ port: 80 }] } },
    "test",
  );
  const nowhere = await kube.proxy({ kind: "service", namespace, name: "empty", port: 80 });
  assert.equal(nowhere.status, 503);
  assert.match(nowhere.body.toString(), /no endpoints available for service/);
  assert.equal((await kube.proxy({ kind: "pod", namespace, name: "missing", port: 80 })).status, 404);
});

test("an answer longer than was requested is rejected", async (t) => {
  const cluster = await simulateBox(t, { http: () => ({ body: "x".repeat(1_001) }) });
  const kube = cluster.connect("akash-provider");
  const target = { kind: "pod", ...box, port: 80 } as const;
  assert.equal((await kube.proxy(target, { mostBytes: 1_001 })).body.length, 1_001);
  await assert.rejects(kube.proxy(target, { mostBytes: 1_000 }), /more than 1000 bytes/);
});
