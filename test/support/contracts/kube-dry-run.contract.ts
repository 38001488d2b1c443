/** Writes that are only tried: the server answers as it would, and nothing changes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import { ownedFields } from "../../../src/kube/owned-fields.ts";
import { configMap, deployment, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

const dryRun = true;

export function checkDryRuns(open: OpenKube): void {
  test("an apply that is only tried shows what would come of it and writes nothing", async (t) => {
    const { kube, namespace } = await open(t);
    const tried = await kube.apply(kinds.deployment, deployment(namespace, "web", "one"), { dryRun });
    assert.equal(tried.written, true);
    assert.ok(tried.object);
    const { strategy } = tried.object["spec"] as { strategy: { type: string } };
    assert.equal(strategy.type, "RollingUpdate", "with what the server fills in");
    assert.equal(await kube.get(kinds.deployment, { namespace, name: "web" }), undefined);

    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "A" }));
    const change = await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "B" }), { dryRun });
    assert.deepEqual(change.object?.["data"], { v: "B" });
    assert.deepEqual(await kube.get(kinds.configMap, { namespace, name: "map" }), object);
    assert.equal(kube.counts.applied, 1, "the one that was real");
  });

  test("an apply that is only tried is rejected as the write would be", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const web = deployment(namespace, "web", "one", 0);
    const spec = { ...(web["spec"] as object), selector: { matchLabels: { app: "other" } } };
    await rejection(kube.apply(kinds.deployment, { ...web, spec }, { dryRun }), "AKP_KUBE_REFUSED");
    await connect("other-manager").apply(kinds.configMap, configMap(namespace, "map", { v: "theirs" }));
    await rejection(kube.apply(kinds.configMap, configMap(namespace, "map", { v: "A" }), { dryRun }), "AKP_KUBE_OWNED");
    const nowhere = configMap("no-such-namespace", "map", {});
    await rejection(kube.apply(kinds.configMap, nowhere, { dryRun, live: null }), "AKP_KUBE_NOT_FOUND");
  });

  test("what is as desired is not even tried, and what was tried is written all the same", async (t) => {
    const { kube, namespace } = await open(t);
    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "A" }));
    assert.ok(object);
    const live = ownedFields(object, kube.fieldManager);
    const before = kube.counts.requests;
    const same = await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "A" }), { live, dryRun });
    assert.equal(same.written, false);
    assert.equal(kube.counts.requests, before);
    await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "B" }), { live, dryRun });
    const unchanged = await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "A" }), { live });
    assert.equal(unchanged.written, false, "the cache that shows the last write is still believed");
    assert.equal((await kube.apply(kinds.configMap, configMap(namespace, "map", { v: "B" }), { live })).written, true);
  });

  test("what is made or deleted only as a try is not there, or is there still", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "map" };
    const tried = await kube.create(kinds.configMap, configMap(namespace, "map", { v: "A" }), { dryRun });
    assert.deepEqual(tried["data"], { v: "A" });
    assert.equal(await kube.delete(kinds.configMap, at, { dryRun }), false);
    const made = await kube.create(kinds.configMap, configMap(namespace, "map", { v: "A" }));
    await rejection(kube.create(kinds.configMap, configMap(namespace, "map", {}), { dryRun }), "AKP_KUBE_EXISTS");
    assert.equal(await kube.delete(kinds.configMap, at, { dryRun }), true);
    await rejection(kube.delete(kinds.configMap, at, { dryRun, uid: randomUUID() }), "AKP_KUBE_OTHER_UID");
    assert.deepEqual(await kube.get(kinds.configMap, at), made);
  });
}
