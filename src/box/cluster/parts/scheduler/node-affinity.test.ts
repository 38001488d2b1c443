import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../shapes/node.ts";
import type { NodeSelectorTerm } from "../shapes/pod.ts";
import type { Requirement } from "../shapes/selector.ts";
import { isWanted } from "./node-affinity.ts";

const labels = { zone: "a", gpus: "4", "akash.network": "true" };
const node: Node = { metadata: { name: "one", uid: "u", labels }, spec: {} };

function allows(...nodeSelectorTerms: NodeSelectorTerm[]): boolean {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return isWanted(node, { spec: { containers: [], affinity: { nodeAffinity } } });
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

test("a node can be asked for by its name", () => {
  assert.equal(allows({ matchFields: [expression("metadata.name", "In", "one")] }), true);
  assert.equal(allows({ matchFields: [expression("metadata.name", "In", "two")] }), false);
});
