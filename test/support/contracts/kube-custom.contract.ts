/** Custom resources: not there until they are defined, and then shaped by their definition. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { kubeWatchLeastMs } from "../../../src/kube/client/watch-stream.ts";
import { type Kind, kinds, resourceOf } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import { eventually } from "../eventually.ts";
import { applyWhenServed, define, definitionOf, ownKind } from "../kube/kube-definition.ts";
import { clusterMs, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkCustomResources(open: OpenKube): void {
  test("an object that is not there is undefined, one of a kind that no one defined is an error that names it", async (t) => {
    const { kube, namespace } = await open(t);
    assert.equal(await kube.get(kinds.configMap, { namespace, name: "missing" }), undefined);
    const unknown = { group: "nowhere.example", version: "v1", kind: "Thing", plural: "things", namespaced: true };
    const error = await rejection(kube.get(unknown, { namespace, name: "missing" }), "AKP_KUBE_KIND_MISSING");
    assert.match(error.message, /things\.nowhere\.example/);
    // The group is known, but it has no such kind.
    await rejection(kube.list({ ...unknown, group: "apps" }, { namespace }), "AKP_KUBE_KIND_MISSING");
  });

  test("its definition says which fields there are, what they are by default, and how lists are merged", async (t) => {
    const { kube, connect, namespace } = await open(t);
    const kind = ownKind();
    await using _ = await define(kube, kind, {
      spec: {
        type: "object",
        properties: {
          size: { type: "integer", default: 3 },
          plain: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
          keyed: {
            type: "array",
            items: {
              type: "object",
              required: ["name"],
              properties: { name: { type: "string" }, n: { type: "integer" } },
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
          },
        },
      },
    });
    const at = { namespace, name: "one" };
    const spec = { plain: [{ name: "a" }], keyed: [{ name: "a", n: 1 }] };
    await applyWhenServed(kube, kind, { metadata: at, spec });
    const other = connect("other-manager");
    await other.apply(kind, { metadata: at, spec: { keyed: [{ name: "b", n: 2 }] } });
    const conflict = other.apply(kind, { metadata: at, spec: { plain: [{ name: "b" }] } });
    await rejection(conflict, "AKP_KUBE_OWNED");
    const keyed = [...spec.keyed, { name: "b", n: 2 }];
    const object = await kube.get(kind, at);
    assert.deepEqual(object?.["spec"], { size: 3, plain: [{ name: "a" }], keyed });
    const made = await kube.create(kind, { metadata: { namespace, name: "two" }, spec: { size: 1, unknown: 1 } });
    assert.deepEqual(made["spec"], { size: 1 });
  });

  test("its status has its own address, and its generation grows with the rest", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    await using _ = await define(kube, kind);
    const at = { namespace, name: "one" };
    await applyWhenServed(kube, kind, { metadata: at, spec: { a: 1 } });
    await kube.apply(kind, { metadata: at, status: { ready: true } }, { subresource: "status" });
    await kube.apply(kind, { metadata: at, spec: { a: 2 }, status: { ready: false } });
    const object = await kube.get(kind, at);
    assert.deepEqual(object?.["status"], { ready: true });
    assert.equal(object?.metadata.generation, 2);
  });

  test("a definition that is not the one meant stays, and all that it defined with it", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    await using _ = await define(kube, kind);
    const at = { namespace, name: "one" };
    await applyWhenServed(kube, kind, { metadata: at, spec: {} });
    const other = kube.delete(kinds.customResourceDefinition, { name: resourceOf(kind) }, { uid: randomUUID() });
    await rejection(other, "AKP_KUBE_OTHER_UID");
    assert.ok(await kube.get(kind, at));
    const definition = await definitionNow(kube, kind);
    assert.equal(definition?.metadata.deletionTimestamp, undefined);
  });

  test("a watch loses what it had when the definition goes, and says so", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    const first = await define(kube, kind);
    const at = { namespace, name: "one" };
    await applyWhenServed(kube, kind, { metadata: at, spec: {} });
    const cache = kube.watch({ kind, namespace, project: ({ metadata }) => metadata.uid });
    t.after(() => cache.close());
    await eventually("it", () => cache.get(at) && cache.counts.connections > 0);
    // Without an open stream the client learns only that there is no such kind, and keeps what its list had. The server closes
    // streams of a kind for a while after it was defined: this object comes by one that is open.
    const next = { namespace, name: "two" };
    await kube.create(kind, { metadata: next, spec: {} });
    await eventually("the next one", () => cache.get(next));
    await first[Symbol.asyncDispose]();
    const isTold = () => ProviderError.is(cache.error, "AKP_KUBE_KIND_MISSING");
    // Long before the watch would have come to its own end.
    await eventually("the error", isTold, kubeWatchLeastMs / 2);
    assert.equal(cache.size, 0);
  });

  test("the server says which kinds it offers, and what another client defines is among them soon after", async (t) => {
    const { kube, connect } = await open(t);
    assert.equal(await kube.serves(kinds.pod), true);
    assert.equal(await kube.serves(kinds.deployment), true);
    assert.equal(await kube.serves({ ...kinds.deployment, plural: "gadgets" }), false);
    const kind = ownKind();
    assert.equal(await kube.serves(kind), false);
    await using _ = await define(kube, kind);
    // One that was not there a moment ago is requested again later; others have not requested yet.
    await eventually("the kind", () => connect(kube.fieldManager).serves(kind), clusterMs);
  });

  test("a definition on its way out takes nothing new, and waits for what is held", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    const definition = await define(kube, kind);
    const [held, free] = [
      { namespace, name: "held" },
      { namespace, name: "free" },
    ];
    await applyWhenServed(kube, kind, { metadata: { ...held, finalizers: ["example.com/hold"] }, spec: {} });
    await kube.create(kind, { metadata: free, spec: {} });
    await definition[Symbol.asyncDispose]();
    await eventually("the end of what is free", async () => !(await kube.get(kind, free)), clusterMs);
    const isMarked = async () => (await kube.get(kind, held))?.metadata.deletionTimestamp;
    await eventually("the mark on what is held", isMarked, clusterMs);
    for (const write of [kube.create, kube.apply]) {
      const error = await rejection(write(kind, { metadata: { namespace, name: "late" } }), "AKP_KUBE_FORBIDDEN");
      assert.match(error.message, /create not allowed while custom resource definition is terminating/);
    }
    const going = await definitionNow(kube, kind);
    assert.ok(going?.metadata.deletionTimestamp);
    assert.deepEqual(going.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
    await kube.apply(kind, { metadata: { ...held, finalizers: [] }, spec: {} });
    await eventually("the end of the definition", async () => !(await definitionNow(kube, kind)), clusterMs);
    await eventually("the end of the kind", () => isMissing(kube, kind), clusterMs);
  });

  test("a definition that is held is served until it goes, but what it defined goes at once", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    const definition = definitionOf(kind);
    const holding = (...finalizers: string[]) => ({ ...definition, metadata: { ...definition.metadata, finalizers } });
    await kube.apply(kinds.customResourceDefinition, holding("example.com/hold"));
    const at = { namespace, name: "one" };
    await applyWhenServed(kube, kind, { metadata: at, spec: {} });
    await kube.delete(kinds.customResourceDefinition, definition.metadata);
    await eventually("the end of the object", async () => !(await kube.get(kind, at)), clusterMs);
    const onlyOurs = async () => {
      const { finalizers = [] } = (await definitionNow(kube, kind))?.metadata ?? {};
      return finalizers.length === 1 && finalizers[0] === "example.com/hold";
    };
    await eventually("nothing but our hold", onlyOurs, clusterMs);
    assert.deepEqual(await kube.list(kind, { namespace }), []);
    await kube.apply(kinds.customResourceDefinition, holding());
    await eventually("the end of the definition", async () => !(await definitionNow(kube, kind)), clusterMs);
    await eventually("the end of the kind", () => isMissing(kube, kind), clusterMs);
  });
}

function definitionNow(kube: Kube, kind: Kind): Promise<KubeObject | undefined> {
  return kube.get(kinds.customResourceDefinition, { name: resourceOf(kind) });
}

async function isMissing(kube: Kube, kind: Kind): Promise<boolean> {
  try {
    await kube.list(kind);
    return false;
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return true;
    throw thrown;
  }
}
