/** Server-side apply: what belongs to whom, and what becomes of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { ownedFields } from "../../../src/kube/owned-fields.ts";
import { configMap, deployment, pickUid, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkApply(open: OpenKube): void {
  test("an unchanged object is not written, with or without a cache to look at", async (t) => {
    const { kube, namespace } = await open(t);
    const desired = deployment(namespace, "web", "one");
    assert.equal((await kube.apply(kinds.deployment, desired)).written, true);
    assert.equal((await kube.apply(kinds.deployment, desired)).written, false);
    const object = await kube.get(kinds.deployment, { namespace, name: "web" });
    assert.ok(object);
    const live = ownedFields(object, kube.fieldManager);
    const before = kube.counts.requests;
    assert.equal((await kube.apply(kinds.deployment, desired, { live })).written, false);
    assert.equal(kube.counts.requests, before, "nothing was requested of the server");
  });

  test("the server itself writes nothing when an apply changes nothing", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const desired = configMap(namespace, "same", { n: "1" });
    const first = await kube.apply(kinds.configMap, desired);
    // By one who knows of none: then it is sent.
    const again = await connect(kube.fieldManager).apply(kinds.configMap, desired, { live: null });
    assert.equal(again.written, true);
    assert.equal(again.object?.metadata.resourceVersion, first.object?.metadata.resourceVersion);
  });

  test("after a restart nothing is written that was written before", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const desired = deployment(namespace, "web", "one");
    assert.equal((await kube.apply(kinds.deployment, desired)).written, true);
    const restarted = connect(kube.fieldManager);
    assert.equal((await restarted.apply(kinds.deployment, desired)).written, false);
    assert.equal((await restarted.apply(kinds.deployment, deployment(namespace, "web", "two"))).written, true);
  });

  test("a field that is no longer wished for goes away, those of others stay", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    await kube.apply(kinds.configMap, configMap(namespace, "shared", { ours: "1", dropped: "1" }));
    await other.apply(kinds.configMap, configMap(namespace, "shared", { theirs: "1" }));
    await kube.apply(kinds.configMap, configMap(namespace, "shared", { ours: "2" }));
    assert.deepEqual(await dataOf(kube, namespace, "shared"), { ours: "2", theirs: "1" });
  });

  test("a field of two owners stays when one of them lets go", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    await kube.apply(kinds.configMap, configMap(namespace, "shared", { both: "1", ours: "1" }));
    await other.apply(kinds.configMap, configMap(namespace, "shared", { both: "1" }));
    await kube.apply(kinds.configMap, configMap(namespace, "shared", { ours: "1" }));
    assert.deepEqual(await dataOf(kube, namespace, "shared"), { both: "1", ours: "1" });
    await other.apply(kinds.configMap, configMap(namespace, "shared", {}));
    assert.deepEqual(await dataOf(kube, namespace, "shared"), { ours: "1" });
  });

  test("a field of ours that another client took is a conflict, and is taken back with force", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    const desired = configMap(namespace, "edited", { ours: "1" });
    await kube.apply(kinds.configMap, desired);
    await other.apply(kinds.configMap, configMap(namespace, "edited", { ours: "by hand" }), { force: true });
    const error = await rejection(kube.apply(kinds.configMap, desired), "AKP_KUBE_OWNED");
    assert.match(error.message, /configmaps edited.*conflict with "other-manager": \.data\.ours/);
    assert.equal((await kube.apply(kinds.configMap, desired, { force: true })).written, true);
    assert.deepEqual(await dataOf(kube, namespace, "edited"), { ours: "1" });
    assert.equal((await kube.apply(kinds.configMap, desired)).written, false);
  });

  test("what another client created is its, and every field in conflict is named", async (t) => {
    const { kube, connect, namespace } = await open(t);
    await connect("creator").create(kinds.configMap, configMap(namespace, "made", { a: "1", b: "1", c: "1" }));
    const desired = configMap(namespace, "made", { a: "2", b: "2", c: "1", d: "1" });
    const error = await rejection(kube.apply(kinds.configMap, desired), "AKP_KUBE_OWNED");
    assert.match(error.message, /2 conflicts: conflicts with "creator" using v1:\n- \.data\.a\n- \.data\.b$/);
    await kube.apply(kinds.configMap, desired, { force: true });
    // What the creator gave and none applies any more is still its.
    await kube.apply(kinds.configMap, configMap(namespace, "made", {}));
    assert.deepEqual(await dataOf(kube, namespace, "made"), { c: "1" });
  });

  test("containers, variables and ports are distinguished by key, and each has its own owners", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
    const theirs = { env: [{ name: "THEIRS", value: "1" }], ports: [{ containerPort: 80, protocol: "UDP" }] };
    await other.apply(kinds.deployment, containerOnly(namespace, "web", theirs));
    let container = await containerOf(kube, namespace, "web");
    assert.deepEqual(namesIn(container, "env"), ["ZEBRA", "APE", "THEIRS"]);
    assert.deepEqual(listIn(container, "ports"), [
      { name: "http", containerPort: 80, protocol: "TCP" },
      { containerPort: 80, protocol: "UDP" },
    ]);
    await other.apply(kinds.deployment, containerOnly(namespace, "web", {}));
    container = await containerOf(kube, namespace, "web");
    assert.deepEqual(namesIn(container, "env"), ["ZEBRA", "APE"]);
    assert.equal(listIn(container, "ports").length, 1);
  });

  test("arguments and tolerations belong to one owner as a whole", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const other = connect("other-manager");
    await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
    const theirs = containerOnly(namespace, "web", { args: ["one", "last", "more"] });
    const error = await rejection(other.apply(kinds.deployment, theirs), "AKP_KUBE_OWNED");
    assert.match(
      error.message,
      /conflict with "akash-provider": \.spec\.template\.spec\.containers\[name="web"\]\.args/,
    );
    const template = (key: string) => ({
      metadata: { namespace, name: "web" },
      spec: { template: { spec: { tolerations: [{ key, operator: "Exists" }] } } },
    });
    await other.apply(kinds.deployment, template("a"));
    await rejection(connect("a third").apply(kinds.deployment, template("b")), "AKP_KUBE_OWNED");
  });

  test("an apply to a version that is no longer the live one is a conflict", async (t) => {
    const { kube, namespace } = await open(t);
    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "one", { n: "1" }));
    const { resourceVersion } = object?.metadata ?? {};
    assert.ok(resourceVersion);
    const at = (n: string): KubeObject => ({ metadata: { namespace, name: "one", resourceVersion }, data: { n } });
    await kube.apply(kinds.configMap, at("2"));
    await rejection(kube.apply(kinds.configMap, at("3")), "AKP_KUBE_CONFLICT");
  });

  test("an apply to the very object that was seen makes none when that one is gone", async (t) => {
    const { kube, namespace } = await open(t);
    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "one", { n: "1" }));
    assert.ok(object);
    await kube.delete(kinds.configMap, object.metadata);
    const again: KubeObject = { metadata: { namespace, name: "one", ...pickUid(object) }, data: { n: "2" } };
    await rejection(kube.apply(kinds.configMap, again), "AKP_KUBE_OTHER_UID");
    assert.equal(await kube.get(kinds.configMap, object.metadata), undefined);
  });

  test("a field that the kind does not have, or of another type, is rejected and named", async (t) => {
    const { kube, namespace } = await open(t);
    const before = kube.counts.requests;
    const mistyped = { metadata: { namespace, name: "one" }, spec: { replicaz: 1 } };
    const error = await rejection(kube.apply(kinds.deployment, mistyped, { live: null }), "AKP_KUBE_REFUSED");
    assert.match(error.message, /\.spec\.replicaz: field not declared in schema/);
    assert.equal(kube.counts.requests - before, 1, "requesting again would not help");
    const number = { metadata: { namespace, name: "one" }, data: { n: 1 } };
    await rejection(kube.apply(kinds.configMap, number), "AKP_KUBE_REFUSED");
    await rejection(kube.create(kinds.configMap, number), "AKP_KUBE_REFUSED");
  });

  test("what cannot change is rejected", async (t) => {
    const { kube, namespace } = await open(t);
    await kube.apply(kinds.deployment, deployment(namespace, "web", "one", 0));
    const labels = { app: "other" };
    const moved = deployment(namespace, "web", "one", 0) as { metadata: KubeObject["metadata"]; spec: object };
    const template = { ...(moved.spec as { template: object }).template, metadata: { labels } };
    const spec = { ...moved.spec, selector: { matchLabels: labels }, template };
    const error = await rejection(kube.apply(kinds.deployment, { ...moved, spec }), "AKP_KUBE_REFUSED");
    assert.match(error.message, /spec\.selector.*field is immutable/);
  });
}

function containerOnly(namespace: string, name: string, fields: object): KubeObject {
  return {
    metadata: { namespace, name },
    spec: { template: { spec: { containers: [{ name: "web", ...fields }] } } },
  };
}

type Fields = Readonly<Record<string, unknown>>;

async function containerOf(kube: Kube, namespace: string, name: string): Promise<Fields> {
  const object = await kube.get(kinds.deployment, { namespace, name });
  assert.ok(object);
  const { template } = object["spec"] as { template: { spec: { containers: Fields[] } } };
  return template.spec.containers[0] ?? {};
}

function listIn(container: Fields, name: string): Fields[] {
  return (container[name] ?? []) as Fields[];
}

function namesIn(container: Fields, list: string): unknown[] {
  return listIn(container, list).map(({ name }) => name);
}

async function dataOf(kube: Kube, namespace: string, name: string): Promise<unknown> {
  return (await kube.get(kinds.configMap, { namespace, name }))?.["data"];
}
