/** What the server makes of an object: identity, defaults, generation, status, names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";
import { configMap, deployment, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkObjects(open: OpenKube): void {
  test("an object gets an identity that it keeps, and a version that changes with it", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.configMap, configMap(namespace, "one", { n: "1" }));
    assert.match(made.metadata.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.match(made.metadata.creationTimestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "one", { more: "1" }));
    assert.equal(object?.metadata.uid, made.metadata.uid);
    assert.equal(object?.metadata.creationTimestamp, made.metadata.creationTimestamp);
    assert.notEqual(object?.metadata.resourceVersion, made.metadata.resourceVersion);
  });

  test("what a workload does not say is filled in, and amounts are written in the server's way", async (t) => {
    const { kube, namespace } = await open(t);
    await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
    const object = await kube.get(kinds.deployment, { namespace, name: "web" });
    const spec = object?.["spec"] as Record<string, unknown>;
    assert.deepEqual(spec["strategy"], {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
    });
    assert.equal(spec["revisionHistoryLimit"], 10);
    assert.equal(spec["progressDeadlineSeconds"], 600);
    const { spec: pod } = spec["template"] as { spec: Record<string, unknown> };
    assert.equal(pod["restartPolicy"], "Always");
    assert.equal(pod["dnsPolicy"], "ClusterFirst");
    assert.equal(pod["terminationGracePeriodSeconds"], 30);
    assert.equal(pod["schedulerName"], "default-scheduler");
    const [container] = pod["containers"] as Record<string, unknown>[];
    assert.equal(container?.["imagePullPolicy"], "IfNotPresent");
    assert.equal(container?.["terminationMessagePath"], "/dev/termination-log");
    assert.deepEqual(container?.["resources"], {
      limits: { cpu: "1", memory: "1Gi" },
      requests: { cpu: "100m", memory: "512Mi" },
    });
    assert.deepEqual(container?.["ports"], [{ name: "http", containerPort: 80, protocol: "TCP" }]);
  });

  test("a service gets its type, ports and an address of its own", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.service, {
      metadata: { namespace, name: "web" },
      spec: { ports: [{ name: "http", port: 80 }] },
    });
    const spec = made["spec"] as Record<string, unknown>;
    assert.equal(spec["type"], "ClusterIP");
    assert.equal(spec["sessionAffinity"], "None");
    assert.deepEqual(spec["ports"], [{ name: "http", port: 80, protocol: "TCP", targetPort: 80 }]);
    assert.match(String(spec["clusterIP"]), /^\d+\.\d+\.\d+\.\d+$/);
    const open80 = { metadata: { namespace, name: "web" }, spec: { type: "NodePort" } };
    const { object } = await kube.apply(kinds.service, open80, { force: true });
    assert.ok(object);
    const { ports, clusterIP } = object["spec"] as { ports: { nodePort: number }[]; clusterIP: string };
    assert.ok((ports[0]?.nodePort ?? 0) >= 30_000);
    assert.equal(clusterIP, spec["clusterIP"]);
  });

  test("the generation grows with what is wished, not with labels or the status", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "closed" };
    const policy = (labels: Record<string, string>, app: string): KubeObject => ({
      metadata: { ...at, labels },
      spec: { podSelector: { matchLabels: { app } }, policyTypes: ["Ingress"] },
    });
    const generation = async () => (await kube.get(kinds.networkPolicy, at))?.metadata.generation;
    await kube.apply(kinds.networkPolicy, policy({}, "a"));
    assert.equal(await generation(), 1);
    await kube.apply(kinds.networkPolicy, policy({ tier: "front" }, "a"));
    assert.equal(await generation(), 1);
    await kube.apply(kinds.networkPolicy, policy({ tier: "front" }, "b"));
    assert.equal(await generation(), 2);
    assert.equal((await kube.create(kinds.configMap, configMap(namespace, "one", {}))).metadata.generation, undefined);
  });

  test("the status is written through its own address only, and nothing else is written there", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "web" };
    const reported = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
    const backend = { service: { name: "web", port: { number: 80 } } };
    const ingress = { metadata: at, spec: { ingressClassName: "missing", defaultBackend: backend } };
    await kube.apply(kinds.ingress, { ...ingress, status: reported });
    const status = async () => (await kube.get(kinds.ingress, at))?.["status"];
    assert.deepEqual(await status(), { loadBalancer: {} });
    await kube.apply(kinds.ingress, { metadata: at, status: reported }, { subresource: "status" });
    assert.deepEqual(await status(), reported);
    assert.equal((await kube.get(kinds.ingress, at))?.metadata.generation, 1);
    await kube.apply(kinds.ingress, { ...ingress, metadata: { ...at, labels: { a: "b" } } });
    assert.deepEqual(await status(), reported);
  });

  test("a status is merged into what is there", async (t) => {
    const { kube, namespace } = await open(t);
    await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
    // Not a zero: the server leaves those out.
    const status = { observedGeneration: 1 };
    await kube.apply(kinds.deployment, { metadata: { namespace, name: "web" }, status }, { subresource: "status" });
    const object = await kube.get(kinds.deployment, { namespace, name: "web" });
    assert.deepEqual({ ...(object?.["status"] as object), ...status }, object?.["status"]);
    assert.ok(object?.["spec"]);
  });

  test("a name that is none is rejected, by the rules of its kind", async (t) => {
    const { kube, namespace } = await open(t);
    const named = (name: string) => ({ metadata: { namespace, name } });
    await rejection(kube.create(kinds.configMap, named("Not_A_Name")), "AKP_KUBE_REFUSED");
    await kube.create(kinds.configMap, named("1.is.one"));
    const service = { ...named("1web"), spec: { ports: [{ port: 80 }] } };
    await rejection(kube.create(kinds.service, service), "AKP_KUBE_REFUSED");
    await kube.create(kinds.role, { ...named("Any:thing"), rules: [] });
    const labelled = { metadata: { namespace, name: "one", labels: { "not a label": "x" } } };
    await rejection(kube.create(kinds.configMap, labelled), "AKP_KUBE_REFUSED");
  });

  test("what is there cannot be created", async (t) => {
    const { kube, namespace } = await open(t);
    await kube.create(kinds.configMap, configMap(namespace, "one", {}));
    await rejection(kube.create(kinds.configMap, configMap(namespace, "one", {})), "AKP_KUBE_EXISTS");
  });

  test("in a namespace that is not there nothing can be made", async (t) => {
    const { kube } = await open(t);
    const lost = configMap("no one-made-this", "one", {});
    const error = await rejection(kube.create(kinds.configMap, lost), "AKP_KUBE_NOT_FOUND");
    assert.match(error.message, /namespaces "no one-made-this" not found/);
    await rejection(kube.apply(kinds.configMap, lost), "AKP_KUBE_NOT_FOUND");
  });
}
