/** Which objects are chosen by their labels and fields. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { Kube, Selection } from "../../../src/kube/kube.ts";
import { eventually } from "../eventually.ts";
import { configMap, follow, isOurName, nameOf, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkSelection(open: OpenKube): void {
  test("labels select by value, by set and by being there", async (t) => {
    const { kube, namespace } = await open(t);
    const labelled = { front: { tier: "front", env: "prod" }, back: { tier: "back" }, plain: {} };
    for (const [name, labels] of Object.entries(labelled)) {
      await kube.create(kinds.configMap, { metadata: { namespace, name, labels } });
    }
    const cases: Record<string, string[]> = {
      "tier=front": ["front"],
      "tier==front": ["front"],
      "tier!=front": ["back", "plain"],
      "tier in (front,back)": ["back", "front"],
      "tier notin (front)": ["back", "plain"],
      tier: ["back", "front"],
      "!tier": ["plain"],
      "tier,env=prod": ["front"],
      "tier in (front, back),!env": ["back"],
    };
    for (const [labelSelector, names] of Object.entries(cases)) {
      assert.deepEqual(await namesOf(kube, kinds.configMap, { namespace, labelSelector }), names, labelSelector);
    }
  });

  test("a selector that cannot be read, or a field that the kind does not know, is rejected", async (t) => {
    const { kube, namespace } = await open(t);
    const list = (selection: Selection) => kube.list(kinds.configMap, { namespace, ...selection });
    await rejection(list({ labelSelector: "a b c" }), "AKP_KUBE_REFUSED");
    const error = await rejection(list({ fieldSelector: "data.n=1" }), "AKP_KUBE_REFUSED");
    assert.match(error.message, /data\.n/);
  });

  test("every kind is selected by name, and some by more", async (t) => {
    const { kube, namespace } = await open(t);
    await kube.create(kinds.secret, { metadata: { namespace, name: "one" } });
    await kube.create(kinds.secret, { metadata: { namespace, name: "two" }, type: "example.com/odd" });
    const names = (fieldSelector: string) => namesOf(kube, kinds.secret, { namespace, fieldSelector });
    assert.deepEqual(await names("metadata.name=one"), ["one"]);
    assert.deepEqual(await names("metadata.name!=one"), ["two"]);
    assert.deepEqual(await names(`metadata.namespace=${namespace},type=example.com/odd`), ["two"]);
  });

  test("pods are selected by node and phase", async (t) => {
    const { kube, namespace } = await open(t);
    // No pod without it, and it comes a moment after its namespace.
    await eventually("the account", () => kube.get(kinds.serviceAccount, { namespace, name: "default" }));
    const containers = [{ name: "a", image: "nowhere.example/a:1" }];
    await kube.create(kinds.pod, {
      metadata: { namespace, name: "idle" },
      spec: { containers, schedulerName: "missing" },
    });
    const names = (fieldSelector: string) => namesOf(kube, kinds.pod, { namespace, fieldSelector });
    assert.deepEqual(await names("status.phase=Pending,spec.nodeName="), ["idle"]);
    assert.deepEqual(await names("status.phase=Running,metadata.name=idle"), []);
    assert.deepEqual(await names("spec.nodeName=elsewhere"), []);
    assert.deepEqual(await names("spec.schedulerName=missing"), ["idle"]);
  });

  test("events are selected by what they regard", async (t) => {
    const { kube, namespace } = await open(t);
    for (const about of ["one", "two"]) {
      await kube.create(kinds.event, {
        metadata: { namespace, name: `event-${about}` },
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingController: "example.com/test",
        reportingInstance: "test",
        action: "Look",
        reason: "Looked",
        type: "Normal",
        regarding: { kind: "ConfigMap", namespace, name: about },
      });
    }
    const names = (fieldSelector: string) => namesOf(kube, kinds.event, { namespace, fieldSelector });
    assert.deepEqual(await names("regarding.kind=ConfigMap,regarding.name=one"), ["event-one"]);
    assert.deepEqual(await names("reason=Looked"), ["event-one", "event-two"]);
  });

  test("a watch of one name sees nothing else", async (t) => {
    const { kube, namespace } = await open(t);
    const { cache, changes } = follow(t, kube, namespace, { fieldSelector: "metadata.name=it" });
    await cache.synced();
    await kube.create(kinds.configMap, configMap(namespace, "other", { n: "1" }));
    await kube.create(kinds.configMap, configMap(namespace, "it", { n: "1" }));
    await eventually("it", () => changes.length > 0);
    assert.deepEqual(changes, ["added it 1"]);
  });
}

async function namesOf(kube: Kube, kind: Kind, selection: Selection): Promise<string[]> {
  const found = await kube.list(kind, selection);
  return found.map(nameOf).filter(isOurName).sort();
}
