import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, ManagedFields } from "../../../kube/kube.ts";
import { labelsDiffer, planLabels } from "./label-writer.ts";

const us = "akash-operator-inventory";
const stale = "akash.network/capabilities.gpu.model.old";
const present = "nvidia.com/gpu.present";

function owner(manager: string, operation: string, ...keys: string[]): ManagedFields {
  const labels = Object.fromEntries(keys.map((key) => [`f:${key}`, {}]));
  return { manager, operation, fieldsV1: { "f:metadata": { "f:labels": { ".": {}, ...labels } } } };
}

function node(labels: Record<string, string>, ...managedFields: ManagedFields[]): KubeObject {
  return { metadata: { name: "a", uid: "n1", labels, managedFields } };
}

const nothing = { seize: {}, apply: false };

test("labels as desired need no write, with any owner", () => {
  const live = { "akash.network": "true", "kubernetes.io/hostname": "a" };
  assert.deepEqual(
    planLabels({ "akash.network": "true" }, node(live, owner("go", "Update", "akash.network")), us),
    nothing,
  );
  assert.ok(!labelsDiffer({ "akash.network": "true" }, live));
});

test("a label that is missing or has another value is applied", () => {
  for (const live of [{}, { "akash.network": "false" }]) {
    assert.deepEqual(planLabels({ "akash.network": "true" }, node(live), us), { seize: {}, apply: true });
    assert.ok(labelsDiffer({ "akash.network": "true" }, live));
  }
});

test("a label of ours alone goes with one apply", () => {
  const found = planLabels({}, node({ [stale]: "true" }, owner(us, "Apply", stale)), us);
  assert.deepEqual(found, { seize: {}, apply: true });
});

test("a label that we do not own alone is seized with another value", () => {
  const owners = [
    [owner("go", "Update", stale)],
    [owner(us, "Apply", stale), owner("go", "Update", stale)],
    [owner(us, "Update", stale)],
    [],
  ];
  for (const managedFields of owners) {
    assert.deepEqual(planLabels({}, node({ [stale]: "4" }, ...managedFields), us), {
      seize: { [stale]: "0" },
      apply: true,
    });
    assert.deepEqual(planLabels({}, node({ [stale]: "0" }, ...managedFields), us).seize, { [stale]: "" });
  }
});

test("NVIDIA's label is seized from the network's operator only", () => {
  const live = { [present]: "true" };
  const operator = owner("provider-services", "Update", "akash.network", present);
  const feature = owner("nfd-master", "Update", present);
  assert.deepEqual(planLabels({}, node(live, operator), us), { seize: { [present]: "0" }, apply: true });
  for (const managedFields of [[feature], [operator, feature], []]) {
    assert.deepEqual(planLabels({}, node(live, ...managedFields), us), nothing);
  }
  assert.deepEqual(planLabels({}, node(live, owner(us, "Apply", present)), us), { seize: {}, apply: true });
});

test("a label that we share with NVIDIA's tools is given back to them", () => {
  const shared = node({ [present]: "true" }, owner(us, "Apply", present), owner("nfd-master", "Update", present));
  assert.deepEqual(planLabels({}, shared, us), { seize: {}, apply: true });
  assert.deepEqual(planLabels({}, node({ [present]: "true" }, owner("nfd-master", "Update", present)), us), nothing);
});
