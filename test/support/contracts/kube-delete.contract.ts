/** How objects go: at once, when their finalizers are gone, with their owner, with their namespace. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { InvariantError } from "../../../src/runtime/invariant.ts";
import { eventually } from "../eventually.ts";
import { clusterMs, configMap, deployment, follow, ownName, pickUid, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkDeletion(open: OpenKube): void {
  test("only the very object that was looked at is deleted", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "one" };
    const first = await kube.create(kinds.configMap, configMap(namespace, "one", {}));
    await kube.delete(kinds.configMap, at, { ...pickUid(first) });
    const second = await kube.create(kinds.configMap, configMap(namespace, "one", {}));
    await rejection(kube.delete(kinds.configMap, at, pickUid(first)), "AKP_KUBE_OTHER_UID");
    await rejection(kube.delete(kinds.configMap, at, { resourceVersion: "1" }), "AKP_KUBE_CONFLICT");
    assert.equal(await kube.delete(kinds.configMap, at, pickUid(second)), true);
    assert.equal(await kube.delete(kinds.configMap, at), false);
  });

  test("an object with a finalizer stays until that is taken away", async (t) => {
    const { kube, namespace } = await open(t);
    const at = { namespace, name: "held" };
    const { cache, changes } = follow(t, kube, namespace, { fieldSelector: "metadata.name=held" });
    await cache.synced();
    await kube.apply(kinds.configMap, held(namespace, "held", ["example.com/hold"]));
    assert.equal(await kube.delete(kinds.configMap, at), true);
    assert.ok((await kube.get(kinds.configMap, at))?.metadata.deletionTimestamp);
    // Again is no fault, and changes nothing.
    assert.equal(await kube.delete(kinds.configMap, at), true);
    const more = held(namespace, "held", ["example.com/hold", "example.com/more"]);
    await rejection(kube.apply(kinds.configMap, more), "AKP_KUBE_REFUSED");
    await kube.apply(kinds.configMap, held(namespace, "held", []));
    assert.equal(await kube.get(kinds.configMap, at), undefined);
    await eventually("its end", () => changes.includes("deleted held 1"));
    assert.deepEqual(changes, ["added held 1", "modified held 1", "deleted held 1"]);
  });

  test("what an object owns goes with it, unless it is to stay", async (t) => {
    const { kube, namespace } = await open(t);
    for (const propagation of ["Background", "Foreground", "Orphan"] as const) {
      const word = propagation.toLowerCase();
      const owner = await kube.create(kinds.configMap, configMap(namespace, `owner-${word}`, {}));
      const { uid } = pickUid(owner);
      const reference = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: owner.metadata.name,
        uid,
        blockOwnerDeletion: true,
      };
      const metadata = { namespace, name: `owned-${word}`, ownerReferences: [reference] };
      await kube.create(kinds.configMap, { metadata });
      await kube.delete(kinds.configMap, { namespace, name: `owner-${word}` }, { propagation });
      const isGone = async (name: string) => (await kube.get(kinds.configMap, { namespace, name })) === undefined;
      await eventually(`the end of the owner (${word})`, () => isGone(`owner-${word}`), clusterMs);
      if (propagation === "Orphan") assert.equal(await isGone(`owned-${word}`), false);
      else await eventually(`the end of what it owned (${word})`, () => isGone(`owned-${word}`), clusterMs);
    }
  });

  test("a namespace takes all that is in it along, takes nothing new meanwhile, and waits for what is held", async (t) => {
    const { kube } = await open(t);
    const namespace = ownName("doomed");
    const made = await kube.create(kinds.namespace, { metadata: { name: namespace } });
    await kube.apply(kinds.configMap, held(namespace, "held", ["example.com/hold"]));
    const web = deployment(namespace, "held", "one", 0);
    await kube.create(kinds.deployment, { ...web, metadata: { ...web.metadata, finalizers: ["example.com/hold"] } });
    await kube.create(kinds.secret, { metadata: { namespace, name: "free" } });
    await assert.rejects(kube.delete(kinds.namespace, { name: namespace }), InvariantError);
    await rejection(kube.delete(kinds.namespace, { name: namespace }, { uid: randomUUID() }), "AKP_KUBE_OTHER_UID");
    assert.equal(await kube.delete(kinds.namespace, { name: namespace }, pickUid(made)), true);
    const rejected = kube.create(kinds.configMap, configMap(namespace, "late", {}));
    assert.match((await rejection(rejected, "AKP_KUBE_TERMINATING")).message, /being terminated/);
    const secret = () => kube.get(kinds.secret, { namespace, name: "free" });
    await eventually("the end of what is free", async () => (await secret()) === undefined, clusterMs);
    const object = await kube.get(kinds.namespace, { name: namespace });
    assert.equal((object?.["status"] as { phase?: string } | undefined)?.phase, "Terminating");
    // Not at once: what goes by itself may take a moment.
    const isHeld = async () => isDeepStrictEqual(await conditionsOf(kube, namespace), holding);
    await eventually("what holds it", isHeld, clusterMs);
    await kube.apply(kinds.configMap, held(namespace, "held", []));
    await kube.patch(kinds.deployment, { namespace, name: "held" }, [{ op: "remove", path: "/metadata/finalizers" }]);
    const gone = async () => (await kube.get(kinds.namespace, { name: namespace })) === undefined;
    await eventually("the end of the namespace", gone, clusterMs);
  });
}

/** What a namespace says when a config map and a deployment in it are held. */
const holding = [
  "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered",
  "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed",
  "NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization",
  "NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances, deployments.apps has 1 resource instances",
  "NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances",
];

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Of a namespace on its way out, why it is still there. */
async function conditionsOf(kube: Kube, name: string): Promise<string[]> {
  const namespace = await kube.get(kinds.namespace, { name });
  const { conditions = [] } = (namespace?.["status"] ?? {}) as { conditions?: readonly Condition[] };
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
}

function held(namespace: string, name: string, finalizers: string[]): KubeObject {
  return { metadata: { namespace, name, finalizers }, data: { n: "1" } };
}
