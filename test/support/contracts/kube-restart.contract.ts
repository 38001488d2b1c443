/** What apply writes, and what it does not: after a restart, with a cache that lags, after another client meddled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { type OwnedFields, ownedFields } from "../../../src/kube/owned-fields.ts";
import { configMap } from "../kube/kube-objects.ts";
import { shapes, unlikes } from "../kube/object-shapes.ts";
import type { OpenKube } from "./kube.contract.ts";

const name = "one";

export function checkRestarts(open: OpenKube): void {
  test("after a restart no object is written again, whatever its shape", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const restarted = connect(kube.fieldManager);
    const again: string[] = [];
    for (const [index, { name: what, kind, wish }] of shapes.entries()) {
      const desired = wish({ namespace, name: `shape-${index}` });
      assert.equal((await kube.apply(kind, desired)).written, true, what);
      if ((await restarted.apply(kind, desired)).written) again.push(what);
    }
    assert.deepEqual(again, []);
    assert.equal(restarted.counts.requests, shapes.length, "each was looked at, and nothing else was requested");
  });

  test("after a restart a wish that only looks like the last one is written", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const silent: string[] = [];
    for (const [index, { name: what, before, after }] of unlikes.entries()) {
      const at = { namespace, name: `unlike-${index}` };
      await kube.apply(before.kind, before.wish(at));
      const wish = after.wish(at);
      if (!(await connect(kube.fieldManager).apply(after.kind, wish)).written) silent.push(what);
      assert.equal((await connect(kube.fieldManager).apply(after.kind, wish)).written, false, what);
    }
    assert.deepEqual(silent, []);
  });

  test("what a cache shows from before our own last write is not believed", async (t) => {
    const { kube, namespace } = await open(t);
    const wish = (v: string) => configMap(namespace, name, { v });
    await kube.apply(kinds.configMap, wish("A"));
    const live = await sightOf(kube, namespace);
    await kube.apply(kinds.configMap, wish("B"), { live });
    assert.equal((await kube.apply(kinds.configMap, wish("A"), { live })).written, true);
    assert.deepEqual(await dataOf(kube, namespace), { v: "A" });
    const before = kube.counts.applied;
    assert.equal((await kube.apply(kinds.configMap, wish("A"), { live })).written, false);
    assert.equal((await kube.apply(kinds.configMap, wish("A"), { live: null })).written, false);
    assert.equal(kube.counts.applied, before, "a cache that lags makes no one write twice");
  });

  test("what a cache shows from before our own delete is not believed", async (t) => {
    const { kube, namespace } = await open(t);
    const desired = configMap(namespace, name, { v: "A" });
    await kube.apply(kinds.configMap, desired);
    const live = await sightOf(kube, namespace);
    await kube.delete(kinds.configMap, desired.metadata);
    assert.equal((await kube.apply(kinds.configMap, desired, { live })).written, true);
    assert.deepEqual(await dataOf(kube, namespace), { v: "A" });
  });

  test("a cache that shows our last write, or what came after it, is believed without a question", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const desired = configMap(namespace, name, { v: "A" });
    const { object } = await kube.apply(kinds.configMap, desired);
    assert.ok(object);
    const other = await connect("other-manager").apply(kinds.configMap, configMap(namespace, name, { theirs: "1" }));
    assert.ok(other.object);
    const before = kube.counts.requests;
    for (const seen of [object, other.object]) {
      const live = ownedFields(seen, kube.fieldManager);
      assert.equal((await kube.apply(kinds.configMap, desired, { live })).written, false);
    }
    assert.equal(kube.counts.requests, before);
  });

  test("an object that is on its way out is not as wished", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const held: KubeObject = { metadata: { namespace, name, finalizers: ["example.com/hold"] }, data: { v: "1" } };
    await kube.apply(kinds.configMap, held);
    await kube.delete(kinds.configMap, held.metadata);
    assert.equal((await kube.apply(kinds.configMap, held)).written, true);
    assert.equal((await connect(kube.fieldManager).apply(kinds.configMap, held)).written, true);
    await kube.apply(kinds.configMap, { metadata: { namespace, name, finalizers: [] } });
  });
}

async function sightOf(kube: Kube, namespace: string): Promise<OwnedFields> {
  const object = await kube.get(kinds.configMap, { namespace, name });
  assert.ok(object);
  return ownedFields(object, kube.fieldManager);
}

async function dataOf(kube: Kube, namespace: string): Promise<unknown> {
  return (await kube.get(kinds.configMap, { namespace, name }))?.["data"];
}
