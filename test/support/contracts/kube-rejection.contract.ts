/** What is rejected, and why: with the status, the fields and the reasons that a real API server gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds, resourceOf } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import { eventually } from "../eventually.ts";
import { applyWhenServed, define, ownKind } from "../kube/kube-definition.ts";
import { clusterMs, ownName, rejection } from "../kube/kube-objects.ts";
import { rejectedObjects } from "../kube/kube-rejected-objects.ts";
import { claimOf, type Fields, meta, type RejectedObject, type Row, rejectedOf } from "../kube/kube-rejected-rows.ts";
import type { OpenKube } from "./kube.contract.ts";

export function checkRejections(open: OpenKube): void {
  for (const [kind, cases] of Map.groupBy(rejectedObjects, (each) => each.kind)) {
    test(`${cases.length} wrong ${resourceOf(kind)} are rejected, each with its faults`, async (t) => {
      const { kube, namespace } = await open(t);
      // A pod needs its namespace's service account, which comes a moment after the namespace.
      const account = () => kube.get(kinds.serviceAccount, { namespace, name: "default" });
      if (kind === kinds.pod) await eventually("the service account", account, clusterMs);
      await checkAll(kube, cases, namespace);
    });
  }

  test("a claim that has its volume grows only where its class allows it, and never shrinks", async (t) => {
    const { kube, namespace } = await open(t);
    for (const allowVolumeExpansion of [false, true]) {
      const name = ownName("class");
      const at = { namespace, name };
      await using _ = await volume(kube, name, allowVolumeExpansion);
      const claim = (size: string) => ({ ...claimOf({ storageClassName: name }, size), metadata: at });
      await kube.apply(kinds.persistentVolumeClaim, claim("2Gi"));
      const isBound = async () => {
        const status = (await kube.get(kinds.persistentVolumeClaim, at))?.["status"] as { phase: string } | undefined;
        return status?.phase === "Bound";
      };
      await eventually("its volume", isBound, clusterMs);
      const smaller = await tellOf(kube, changed(claim("1Gi")), at);
      assert.deepEqual(smaller, ["422 Invalid", "spec.resources.requests.storage Forbidden"]);
      const larger = await tellOf(kube, changed(claim("3Gi")), at);
      assert.deepEqual(larger, [allowVolumeExpansion ? "accepted" : "403 Forbidden"]);
    }
  });

  test("a custom resource is held to the schema of its definition", async (t) => {
    const { kube, namespace } = await open(t);
    const kind = ownKind();
    await using _ = await define(kube, kind, { spec: gadget });
    const spec = {
      host: "abc",
      n: 3,
      mode: "a",
      keyed: [{ name: "a" }],
      free: { any: 1 },
      share: "5%",
      either: { a: 1 },
    };
    await applyWhenServed(kube, kind, { metadata: { namespace, name: "good" }, spec });
    const make = (given: Fields) => ({ metadata: meta(), spec: { host: "abc", ...given } });
    await checkAll(kube, rejectedOf(kind, gadgets, { make, at: "spec." }), namespace);
    const either = { ...make({ either: { a: 1, b: 1 } }), metadata: { namespace, name: "both" } };
    await rejection(kube.create(kind, either), "AKP_KUBE_REFUSED");
    // Nothing at all is left out, where the schema does not know it as a value.
    const made = await kube.create(kind, { ...make({ n: null }), metadata: { namespace, name: "nothing" } });
    assert.deepEqual(made["spec"], { host: "abc" });
  });
}

async function checkAll(kube: Kube, cases: readonly RejectedObject[], namespace: string): Promise<void> {
  const reported: Record<string, readonly string[]> = {};
  for (const [at, each] of cases.entries())
    reported[each.what] = await tellOf(kube, each, { namespace, name: `it-${at}` });
  assert.deepEqual(reported, Object.fromEntries(cases.map(({ what, reported: says }) => [what, says.toSorted()])));
}

/** The status and its causes, in order of their names; ["accepted"] when it was not rejected. */
async function tellOf(kube: Kube, { kind, object, after, by }: RejectedObject, at: Place): Promise<readonly string[]> {
  if (after) await kube.apply(kind, placed(after, kind, at));
  const write = after || by === "apply" ? kube.apply : kube.create;
  try {
    await write(kind, placed(object, kind, at));
    return ["accepted"];
  } catch (thrown) {
    const { status, statusReason, causes = [] } = ProviderError.from(thrown).details as unknown as Rejection;
    const reported = causes.map(({ field, reason }) => `${field} ${reason.replace("FieldValue", "")}`);
    return [`${status} ${statusReason ?? ""}`.trim(), ...reported].sort();
  }
}

interface Rejection {
  readonly status: number;
  readonly statusReason?: string;
  readonly causes?: readonly { readonly field: string; readonly reason: string }[];
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** Under a name that no other case has, unless it is about the name. */
function placed(object: Fields, kind: Kind, at: Place): KubeObject {
  const { name, ...metadata } = object["metadata"] as { name: string };
  const here = { name: name === "it" ? at.name : name, ...(kind.namespaced ? { namespace: at.namespace } : {}) };
  return { ...object, metadata: { ...metadata, ...here } };
}

/** Of a class of its own, both of this name. They are for the whole cluster, so they go at the end. */
async function volume(kube: Kube, name: string, allowVolumeExpansion: boolean): Promise<AsyncDisposable> {
  const metadata = { name };
  const spec = { storageClassName: name, capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"] };
  await kube.create(kinds.storageClass, { metadata, provisioner: "example.com/none", allowVolumeExpansion });
  await kube.create(kinds.persistentVolume, { metadata, spec: { ...spec, hostPath: { path: "/nowhere" } } });
  return {
    async [Symbol.asyncDispose]() {
      await kube.delete(kinds.persistentVolume, metadata);
      await kube.delete(kinds.storageClass, metadata);
    },
  };
}

function changed(object: Fields): RejectedObject {
  return { what: "", kind: kinds.persistentVolumeClaim, object, by: "apply", reported: [] };
}

const gadget = {
  type: "object",
  required: ["host"],
  properties: {
    host: { type: "string", pattern: "^[a-z]+$", minLength: 2, maxLength: 5 },
    n: { type: "integer", minimum: 1, maximum: 3 },
    mode: { type: "string", enum: ["a", "b"] },
    many: { type: "array", maxItems: 2, items: { type: "string" } },
    when: { type: "string", format: "date-time" },
    share: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    map: { type: "object", additionalProperties: { type: "integer" } },
    either: {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    keyed: {
      type: "array",
      items: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

const gadgets: readonly Row[] = [
  ["no host", { host: undefined }, "host Required"],
  ["a host that does not fit its pattern", { host: "ABC" }, "host Invalid"],
  ["a host that is too short", { host: "a" }, "host Invalid"],
  ["a host that is too long", { host: "abcdef" }, "host TooLong"],
  ["too much", { n: 4 }, "n Invalid"],
  ["too little", { n: 0 }, "n Invalid"],
  ["a text for a number", { n: "1" }, "n TypeInvalid"],
  ["a fraction for an integer", { n: 1.5 }, "n TypeInvalid"],
  ["a mode that is unknown", { mode: "z" }, "mode NotSupported"],
  ["too many", { many: ["a", "b", "c"] }, "many TooMany"],
  ["one of another type among many", { many: ["a", 1] }, "many[1] TypeInvalid"],
  ["a time that is none", { when: "yesterday" }, "when TypeInvalid"],
  ["a wrong entry of a map", { map: { a: "b" } }, "map.a TypeInvalid"],
  ["the same key twice", { keyed: [{ name: "a" }, { name: "a" }] }, "keyed[1] Duplicate"],
  ["an element without its key", { keyed: [{}] }, "keyed[0].name Required"],
  ["several at once", { host: undefined, n: 9, mode: "z" }, "host Required, n Invalid, mode NotSupported"],
  ["the same key twice, applied", { keyed: [{ name: "a" }, { name: "a" }] }, "500", { by: "apply" }],
];
