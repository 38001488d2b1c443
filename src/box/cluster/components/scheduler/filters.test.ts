import assert from "node:assert/strict";
import { test } from "node:test";
import type { Requirement } from "../../api-server/objects/label-selector.ts";
import type { KubeNode } from "../shapes/node.ts";
import type { NodeSelector } from "../shapes/pod.ts";
import { matches } from "./filters.ts";

const labels = { zone: "a", gpus: "4", "akash.network": "true" };
const node: KubeNode = { metadata: { name: "one", uid: "u", labels }, spec: {} };

function allows(...nodeSelectorTerms: NodeSelector["nodeSelectorTerms"]): boolean {
  return matches(node, { nodeSelectorTerms });
}

const expression = (key: string, operator: string, ...values: string[]): Requirement => ({ key, operator, values });

test("every operator of node affinity decides as in a real scheduler", () => {
  const cases: [Requirement, boolean][] = [
    [expression("zone", "In", "a", "b"), true],
    [expression("zone", "In", "b"), false],
    [expression("zone", "NotIn", "b"), true],
    [expression("zone", "NotIn", "a"), false],
    [expression("rack", "NotIn", "a"), true],
    [expression("zone", "Exists"), true],
    [expression("rack", "Exists"), false],
    [expression("rack", "DoesNotExist"), true],
    [expression("zone", "DoesNotExist"), false],
    [expression("gpus", "Gt", "3"), true],
    [expression("gpus", "Gt", "4"), false],
    [expression("gpus", "Lt", "5"), true],
    [expression("gpus", "Lt", "4"), false],
    [expression("akash.network", "Gt", "0"), false],
    [expression("rack", "Gt", "0"), false],
  ];
  for (const [requirement, allowed] of cases) {
    assert.equal(allows({ matchExpressions: [requirement] }), allowed, JSON.stringify(requirement));
  }
});

test("one term is enough, every line of it must hold, and an empty one matches nothing", () => {
  const [right, wrong] = [expression("zone", "In", "a"), expression("zone", "In", "b")];
  assert.equal(allows({ matchExpressions: [wrong] }, { matchExpressions: [right] }), true);
  assert.equal(allows({ matchExpressions: [right, wrong] }), false);
  assert.equal(allows({}), false);
});

test("a node selector by name matches that node", () => {
  const [one, two] = [expression("metadata.name", "In", "one"), expression("metadata.name", "In", "two")];
  assert.equal(allows({ matchFields: [one] }), true);
  assert.equal(allows({ matchFields: [two] }), false);
  assert.equal(allows({ matchFields: [two], matchExpressions: [expression("zone", "In", "a")] }), false);
});
