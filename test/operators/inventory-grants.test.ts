/** What deploy/operator-inventory.yaml allows, and what the inventory operator requests of the API server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { grantsOf } from "../lab/provider-manifests.ts";
import { longhornClass, rbdClass } from "../support/samples/storage-samples.ts";
import { hardware, stage } from "../support/stages/inventory-stage.ts";

const granted = grantsOf(
  parseAllDocuments(readFileSync(join(import.meta.dirname, "../../deploy/operator-inventory.yaml"), "utf8")).map(
    (document) => document.toJS(),
  ),
);

const verbs: Readonly<Record<string, readonly string[]>> = {
  watch: ["list", "watch"],
  // An apply reads the object where its cache does not show the last write yet.
  apply: ["get", "patch"],
  ...{ list: ["list"], get: ["get"], create: ["create"], delete: ["delete"], replace: ["update"], patch: ["patch"] },
};

const subresources: Readonly<Record<string, string>> = { proxy: "get pods/proxy", exec: "create pods/exec" };

/** Records the rights that each call needs. */
function recorded(kube: Kube, used: Set<string>): Kube {
  function record(method: string, first: unknown): void {
    const subresource = subresources[method];
    if (subresource !== undefined) used.add(subresource);
    const { group, plural } = (method === "watch" ? (first as { kind: Kind }).kind : first) as Kind;
    const resource = group ? `${plural}.${group}` : plural;
    for (const verb of verbs[method] ?? []) used.add(`${verb} ${resource}`);
    if (method === "apply" && first === kinds.event) used.add(`create ${resource}`);
  }
  return new Proxy(kube, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) => {
        if (args.length > 0) record(String(name), args[0]);
        return value.apply(target, args);
      };
    },
  });
}

test("the inventory operator uses each right of its Roles, and needs no other", async (t) => {
  // Of its own pod: src/provider/own-pod.ts.
  const used = new Set(["get pods"]);
  let [image, answers] = ["discovery:1", true];
  const self = { apiVersion: "v1", kind: "Pod", namespace: "tenants", name: "operator", uid: "u-1" };
  const { cluster, node, until } = await stage(t, {
    self,
    image: () => image,
    hardware: () => (answers ? hardware : undefined),
    config: "version: v1\ncluster_storage: [beta2, beta3]",
    prepare({ server }) {
      for (const each of [longhornClass("beta2"), rbdClass("beta3")]) server.create(kinds.storageClass, each, "test");
    },
    through: (kube) => recorded(kube, used),
  });
  await until("hardware", () => node("one")?.hardware);
  image = "discovery:2";
  await until("another discovery pod", () => used.has("delete pods"));
  answers = false;
  await until("an Event", () => cluster.server.list(kinds.event).some((each) => each["reason"] === "DiscoveryMissing"));
  assert.deepEqual([...used].sort(), [...granted].sort());
});
