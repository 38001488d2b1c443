/** Writes that are no apply of the object: of its status, of a whole object at a version, and patches. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject, ObjectAt } from "../../../src/kube/kube.ts";
import { ownedFields } from "../../../src/kube/owned-fields.ts";
import { configMap, pickUid, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkWrites(open: OpenKube): void {
  checkStatus(open);
  checkReplace(open);
  checkPatch(open);
  checkOwners(open);
}

const reported = (ip: string) => ({ loadBalancer: { ingress: [{ ip }] } });

function ingress(at: { namespace: string; name: string }): KubeObject {
  const backend = { service: { name: "web", port: { number: 80 } } };
  return { metadata: at, spec: { ingressClassName: "missing", defaultBackend: backend } };
}

function checkStatus(open: OpenKube): void {
  const subresource = "status";

  test("a status that is applied is ours, and is written once", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const at = { namespace, name: "web" };
    await kube.apply(kinds.ingress, ingress(at));
    const wish: KubeObject = { metadata: at, status: reported("192.0.2.1") };
    const { written, object } = await kube.apply(kinds.ingress, wish, { subresource });
    assert.equal(written, true);
    assert.deepEqual(object?.["status"], wish["status"]);
    assert.deepEqual([object?.metadata.generation, object?.["spec"]], [1, ingress(at)["spec"]]);
    const restarted = connect(kube.fieldManager);
    assert.equal((await restarted.apply(kinds.ingress, wish, { subresource })).written, false);
    assert.equal((await restarted.apply(kinds.ingress, ingress(at))).written, false, "the rest is as it was");
    assert.ok(object);
    const live = ownedFields(object, kube.fieldManager, subresource);
    const before = restarted.counts.requests;
    assert.equal((await restarted.apply(kinds.ingress, wish, { subresource, live })).written, false);
    assert.equal(restarted.counts.requests, before);
    const other = { metadata: at, status: reported("192.0.2.2") };
    await rejection(connect("other-manager").apply(kinds.ingress, other, { subresource }), "AKP_KUBE_OWNED");
    assert.equal((await restarted.apply(kinds.ingress, other, { subresource })).written, true);
  });

  test("a status that is applied changes nothing else, and there is none without its object", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "web" };
    const wish = { metadata: { ...at, labels: { more: "no" } }, spec: {}, status: reported("192.0.2.1") };
    await rejection(kube.apply(kinds.ingress, wish, { subresource }), "AKP_KUBE_NOT_FOUND");
    await kube.apply(kinds.ingress, ingress(at));
    const tried = await kube.apply(
      kinds.ingress,
      { metadata: at, status: reported("192.0.2.1") },
      { subresource, dryRun: true },
    );
    assert.deepEqual(tried.object?.["status"], reported("192.0.2.1"));
    assert.deepEqual((await kube.get(kinds.ingress, at))?.["status"], { loadBalancer: {} });
    await rejection(kube.apply(kinds.secret, { metadata: at }, { subresource, live: null }), "AKP_KUBE_KIND_MISSING");
  });
}

function checkReplace(open: OpenKube): void {
  test("an object is replaced at the version that was read, and at no other", async (t) => {
    const { kube, namespace } = await open(t);
    const first = await kube.create(kinds.configMap, configMap(namespace, "map", { a: "1", b: "1" }));
    const tried = await kube.replace(kinds.configMap, { ...first, data: { a: "2" } }, { dryRun: true });
    assert.deepEqual(tried["data"], { a: "2" });
    assert.deepEqual(await kube.get(kinds.configMap, first.metadata), first);
    const second = await kube.replace(kinds.configMap, { ...first, data: { a: "2" } });
    assert.deepEqual(second["data"], { a: "2" }, "what is not in it goes");
    assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
    for (const dryRun of [true, false]) {
      await rejection(kube.replace(kinds.configMap, { ...first, data: { a: "3" } }, { dryRun }), "AKP_KUBE_CONFLICT");
    }
    await kube.delete(kinds.configMap, first.metadata);
    await rejection(kube.replace(kinds.configMap, second), "AKP_KUBE_NOT_FOUND");
    await kube.create(kinds.configMap, configMap(namespace, "map", {}));
    await rejection(kube.replace(kinds.configMap, second), "AKP_KUBE_OTHER_UID");
  });

  test("what an apply knew of an object is not believed after it was replaced", async (t) => {
    const { kube, namespace } = await open(t);
    const wish = configMap(namespace, "map", { a: "1" });
    const { object } = await kube.apply(kinds.configMap, wish);
    assert.ok(object);
    const live = ownedFields(object, kube.fieldManager);
    await kube.replace(kinds.configMap, { ...object, data: { a: "2" } });
    assert.equal((await kube.apply(kinds.configMap, wish, { live, force: true })).written, true);
    assert.deepEqual(await dataOf(kube, object.metadata), { a: "1" });
  });

  test("the status is replaced alone, and stays where the rest is replaced", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.ingress, ingress({ namespace, name: "web" }));
    const first = await kube.replace(
      kinds.ingress,
      { ...made, spec: {}, status: reported("192.0.2.1") },
      { subresource: "status" },
    );
    assert.deepEqual([first["spec"], first["status"]], [made["spec"], reported("192.0.2.1")]);
    const spec = { ...(made["spec"] as object), ingressClassName: "other" };
    const second = await kube.replace(kinds.ingress, { ...first, spec, status: reported("192.0.2.9") });
    assert.deepEqual([second["spec"], second["status"]], [spec, reported("192.0.2.1")]);
  });
}

function checkPatch(open: OpenKube): void {
  test("a patch is carried out step by step, and tried without a trace", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.configMap, {
      metadata: {
        namespace,
        name: "map",
        annotations: { "example.com/note": "1" },
        finalizers: ["example.com/a", "example.com/b"],
      },
      data: { old: "1" },
    });
    const operations = [
      { op: "test", path: "/metadata/uid", value: pickUid(made).uid },
      { op: "replace", path: "/metadata/annotations/example.com~1note", value: "2" },
      { op: "remove", path: "/data/old" },
      { op: "add", path: "/data/new", value: "1" },
      { op: "remove", path: "/metadata/finalizers/0" },
      { op: "add", path: "/metadata/finalizers/-", value: "example.com/c" },
      { op: "add", path: "/metadata/finalizers/0", value: "example.com/d" },
    ] as const;
    const tried = await kube.patch(kinds.configMap, made.metadata, operations, { dryRun: true });
    assert.deepEqual(await kube.get(kinds.configMap, made.metadata), made);
    const patched = await kube.patch(kinds.configMap, made.metadata, operations);
    assert.deepEqual(patched["data"], { new: "1" });
    assert.deepEqual(patched.metadata.annotations, { "example.com/note": "2" });
    assert.deepEqual(patched.metadata.finalizers, ["example.com/d", "example.com/b", "example.com/c"]);
    assert.deepEqual(tried["data"], patched["data"]);
    await kube.patch(kinds.configMap, made.metadata, [{ op: "remove", path: "/metadata/finalizers" }]);
  });

  test("a patch that does not fit the object is a conflict and changes nothing", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.configMap, configMap(namespace, "map", { a: "1" }));
    const add = { op: "add", path: "/data/b", value: "1" } as const;
    for (const wrong of [
      { op: "test", path: "/data/a", value: "2" },
      { op: "test", path: "/data/none", value: "1" },
      { op: "remove", path: "/data/none" },
      { op: "replace", path: "/none/deeper", value: "1" },
      { op: "add", path: "/none/deeper", value: "1" },
      { op: "remove", path: "/metadata/finalizers/0" },
    ] as const) {
      const error = await rejection(kube.patch(kinds.configMap, made.metadata, [add, wrong]), "AKP_KUBE_CONFLICT");
      assert.match(error.message, /a test of the patch failed, or a path of it leads nowhere/);
    }
    assert.deepEqual(await kube.get(kinds.configMap, made.metadata), made);
    const absent = [
      { op: "test", path: "/data/none", value: null },
      { op: "replace", path: "/data/none", value: "1" },
    ] as const;
    const replaced = await kube.patch(kinds.configMap, made.metadata, absent, { dryRun: true });
    assert.deepEqual(replaced["data"], { a: "1", none: "1" }, "other than the RFC says");
    const missing = { namespace, name: "missing" };
    await rejection(kube.patch(kinds.configMap, missing, [add]), "AKP_KUBE_NOT_FOUND");
    const mistyped = { op: "add", path: "/data", value: "text" } as const;
    await rejection(kube.patch(kinds.configMap, made.metadata, [mistyped]), "AKP_KUBE_REFUSED");
  });

  test("a patch of the status changes that alone", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.ingress, ingress({ namespace, name: "web" }));
    const operations = [
      { op: "add", path: "/status/loadBalancer/ingress", value: reported("192.0.2.1").loadBalancer.ingress },
      { op: "remove", path: "/spec/ingressClassName" },
    ] as const;
    const patched = await kube.patch(kinds.ingress, made.metadata, operations, { subresource: "status" });
    assert.deepEqual([patched["spec"], patched["status"]], [made["spec"], reported("192.0.2.1")]);
  });
}

async function dataOf(kube: Kube, at: ObjectAt): Promise<unknown> {
  return (await kube.get(kinds.configMap, at))?.["data"];
}

/** Who owns what is written by the server, unless another client writes just that. */
function checkOwners(open: OpenKube): void {
  const fields = (object: KubeObject | undefined) =>
    object?.metadata.managedFields?.map(({ manager, operation, fieldsV1 }) => [
      `${manager} ${operation}`,
      Object.keys((fieldsV1?.["f:data"] ?? {}) as object).filter((step) => step !== "."),
    ]);

  test("owners are written by a patch, and an apply then removes what was another client's", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    const made = await other.create(kinds.configMap, configMap(namespace, "map", { a: "1", b: "1" }));
    const wish = configMap(namespace, "map", { a: "1" });
    const forced = await kube.apply(kinds.configMap, wish, { force: true });
    assert.deepEqual(forced.object?.["data"], { a: "1", b: "1" }, "by force alone it stays");
    const before = forced.object as KubeObject;
    const owned = before.metadata.managedFields?.find(({ manager }) => manager === "other-manager");
    const value = [{ ...owned, manager: kube.fieldManager, operation: "Apply" }];
    const moved = await kube.patch(kinds.configMap, made.metadata, [
      { op: "test", path: "/metadata/resourceVersion", value: before.metadata.resourceVersion },
      { op: "replace", path: "/metadata/managedFields", value },
      { op: "add", path: "/data/c", value: "1" },
    ]);
    assert.deepEqual(fields(moved), [
      [`${kube.fieldManager} Apply`, ["f:a", "f:b"]],
      [`${kube.fieldManager} Update`, ["f:c"]],
    ]);
    assert.notEqual(moved.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.deepEqual((await kube.apply(kinds.configMap, wish)).object?.["data"], { a: "1", c: "1" });
    await rejection(
      kube.patch(kinds.configMap, made.metadata, [
        { op: "test", path: "/metadata/resourceVersion", value: before.metadata.resourceVersion },
        { op: "replace", path: "/metadata/managedFields", value },
      ]),
      "AKP_KUBE_CONFLICT",
    );
  });

  test("who says nothing of owners keeps them, and who writes that there are none takes them all away", async (t) => {
    const { kube, namespace } = await open(t);
    const made = await kube.create(kinds.configMap, configMap(namespace, "map", { a: "1" }));
    const { managedFields: _, ...metadata } = made.metadata;
    assert.deepEqual(fields(await kube.replace(kinds.configMap, { ...made, metadata })), fields(made));
    const without = await kube.patch(kinds.configMap, made.metadata, [
      { op: "replace", path: "/metadata/managedFields", value: [] },
    ]);
    assert.equal(without.metadata.managedFields, undefined);
    assert.deepEqual(without["data"], made["data"]);
  });

  test("a label of a Deployment and its owners are no new generation of it", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const labels = { app: "web" };
    const spec = {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nowhere.example/web:1" }] } },
    };
    const made = await connect("other-manager").create(kinds.deployment, {
      metadata: { namespace, name: "web", labels },
      spec,
    });
    const value = made.metadata.managedFields?.map((entry) => ({
      ...entry,
      manager: kube.fieldManager,
      operation: "Apply",
    }));
    const moved = await kube.patch(kinds.deployment, made.metadata, [
      { op: "replace", path: "/metadata/managedFields", value },
      { op: "add", path: "/metadata/labels/kept", value: "yes" },
    ]);
    assert.equal(moved.metadata.generation, made.metadata.generation);
    assert.deepEqual(moved["spec"], made["spec"]);
  });

  test("a list in which a name stands twice becomes what is applied over it, once it is ours", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const labels = { app: "web" };
    const web = (env: object[], ports: object[]): KubeObject => ({
      metadata: { namespace, name: "web" },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "web", image: "nowhere.example/web:1", env, ports }] },
        },
      },
    });
    const [one, two] = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    const port = { containerPort: 80, protocol: "TCP" };
    const made = await connect("other-manager").create(
      kinds.deployment,
      web([one, { name: "B", value: "b" }, two], [port, port]),
    );
    const value = made.metadata.managedFields?.map((entry) => ({
      ...entry,
      manager: kube.fieldManager,
      operation: "Apply",
    }));
    await kube.patch(kinds.deployment, made.metadata, [{ op: "replace", path: "/metadata/managedFields", value }]);
    await rejection(kube.apply(kinds.deployment, web([one, two], [port]), { force: true }), "AKP_KUBE_REFUSED");
    const { object } = await kube.apply(kinds.deployment, web([two, { name: "B", value: "b" }], [port]), {
      force: true,
    });
    const { spec } = object as unknown as { spec: { template: { spec: { containers: Record<string, unknown>[] } } } };
    const [container] = spec.template.spec.containers;
    assert.deepEqual(container?.["env"], [two, { name: "B", value: "b" }]);
    assert.deepEqual(container?.["ports"], [port]);
  });
}
