/** Custom resources: not there until they are defined, and then shaped by their definition. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { type Kind, kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { eventually } from "./eventually.ts";
import type { OpenKube } from "./kube.contract.ts";
import { definitionOf } from "./kube-definition.ts";
import { clusterMs, refusal } from "./kube-objects.ts";

export function checkCustomResources(open: OpenKube): void {
  test("an object that is not there is undefined, one of a kind that nobody defined is an error that names it", async (t) => {
    const { kube, namespace } = await open(t);
    assert.equal(await kube.get(kinds.configMap, { namespace, name: "nobody" }), undefined);
    const unknown = { group: "nowhere.example", version: "v1", kind: "Thing", plural: "things", namespaced: true };
    const error = await refusal(kube.get(unknown, { namespace, name: "nobody" }), "AKP_KUBE_KIND_MISSING");
    assert.match(error.message, /things\.nowhere\.example/);
    // The group is known, but it has no such kind.
    await refusal(kube.list({ ...unknown, group: "apps" }, { namespace }), "AKP_KUBE_KIND_MISSING");
  });

  test("a watch of a kind that is not yet defined begins when it is", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    const cache = kube.watch({ kind, namespace, project: ({ metadata }) => metadata.name });
    t.after(() => cache.close());
    await eventually("the trouble", () => ProviderError.is(cache.trouble, "AKP_KUBE_KIND_MISSING"));
    await using _ = await define(kube, kind);
    await applyWhenServed(kube, kind, { metadata: { namespace, name: "one" }, spec: { a: 1 } });
    await eventually("it", () => cache.get({ namespace, name: "one" }) === "one", clusterMs);
    assert.equal(cache.trouble, undefined);
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
    const other = connect("somebody");
    await other.apply(kind, { metadata: at, spec: { keyed: [{ name: "b", n: 2 }] } });
    const conflict = other.apply(kind, { metadata: at, spec: { plain: [{ name: "b" }] } });
    await refusal(conflict, "AKP_KUBE_CONFLICT");
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
    await kube.patchStatus(kind, at, { ready: true });
    await kube.apply(kind, { metadata: at, spec: { a: 2 }, status: { ready: false } });
    const object = await kube.get(kind, at);
    assert.deepEqual(object?.["status"], { ready: true });
    assert.equal(object?.metadata.generation, 2);
  });
}

/** Of a group that no other test has. */
function ownKind(): Kind {
  const group = `g${randomBytes(4).toString("hex")}.example.com`;
  return { group, version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };
}

/** Gone again at the end of the test: a definition is there for the whole cluster. */
async function define(kube: Kube, kind: Kind, properties = {}): Promise<AsyncDisposable> {
  const definition = definitionOf(kind, properties);
  await kube.create(kinds.customResourceDefinition, definition);
  return {
    async [Symbol.asyncDispose]() {
      await kube.delete(kinds.customResourceDefinition, definition.metadata);
    },
  };
}

/** A real server needs a moment until it serves what was defined. */
async function applyWhenServed(kube: Kube, kind: Kind, object: KubeObject): Promise<void> {
  await eventually(
    "the kind",
    async () => {
      try {
        return await kube.apply(kind, object);
      } catch (thrown) {
        if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return undefined;
        throw thrown;
      }
    },
    clusterMs,
  );
}
