import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { settingsFileChars } from "../../../runtime/limits.ts";
import { classesOnNode, defaultInventoryConfig, excludedBy, parseInventoryConfig } from "./inventory-config.ts";

const example = `version: v1
cluster_storage:
  - default
  - beta2
exclude:
  nodes:
    - ^control-plane
  node_storage:
    - node_filter: ^test
      classes: [default, beta2]
gpu_registry: https://registry.example.com/gpus.json
`;

function errorOf(text: string): string {
  try {
    parseInventoryConfig(text, "config.yaml");
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_INVENTORY_CONFIG_REFUSED")) return thrown.message;
    throw thrown;
  }
  return assert.fail("no error");
}

test("the network's format is read, and classes come out sorted", () => {
  const config = parseInventoryConfig(example);
  assert.deepEqual(config.clusterStorage, ["beta2", "default"]);
  assert.equal(config.gpuRegistry, "https://registry.example.com/gpus.json");
  assert.equal(excludedBy(config, "control-plane-1"), "^control-plane");
  assert.equal(excludedBy(config, "worker"), undefined);
});

test("what the network's chart writes, and next to nothing, is read too", () => {
  const chart = "version: v1\ncluster_storage: [default, beta3, ram]\nexclude:\n  nodes: []\n  node_storage: []\n";
  assert.deepEqual(parseInventoryConfig(chart).clusterStorage, ["beta3", "default", "ram"]);
  for (const text of ["{}", "version: v1\n", "version: 1.0.0\nexclude:\n", "exclude:\n  nodes:\n"]) {
    assert.deepEqual(parseInventoryConfig(text), defaultInventoryConfig, text);
  }
});

test("a node has the classes that are sold and there, without those excluded for it", () => {
  const config = parseInventoryConfig(example);
  assert.deepEqual(classesOnNode(config, new Set(["beta2", "default", "foreign"]), "worker"), ["beta2", "default"]);
  assert.deepEqual(classesOnNode(config, new Set(["beta2"]), "worker"), ["beta2"]);
  assert.deepEqual(classesOnNode(config, new Set(["beta2", "default"]), "test"), []);
  assert.deepEqual(classesOnNode(defaultInventoryConfig, new Set(["beta2"]), "worker"), []);
});

test("problems have their line and key", () => {
  const cases: [string, RegExp][] = [
    ["version: v1\ncluster_store: []\n", /config\.yaml is refused: line 2: there is no cluster_store/],
    ["exclude:\n  nods: []\n", /line 2: there is no exclude\.nods/],
    ["exclude:\n  nodes:\n    - ''\n", /line 3: exclude\.nodes\.0: .*empty/],
    ["exclude:\n  nodes: ['(']\n", /line 2: exclude\.nodes\.0: "\(" is no pattern: missing closing \)/],
    ["cluster_storage: beta2\n", /line 1: cluster_storage: /],
    ["cluster_storage: [Beta_2]\n", /line 1: cluster_storage\.0: a storage class has/],
    ["version: next\n", /line 1: version: /],
    ["exclude:\n  node_storage:\n    - classes: []\n", /line 3: exclude\.node_storage\.0\.node_filter: /],
    [
      "cluster_storage: [a]\nexclude:\n  node_storage:\n    - node_filter: x\n      classes: [a, b]\n",
      /line 5: exclude\.node_storage\.0\.classes\.1: b is not in cluster_storage/,
    ],
    ["cluster_storage: [\n", /line 2: this is not valid YAML/],
    ["version: v1\nversion: v2\n", /line 2: this is not valid YAML/],
    ["- a\n", /line 1: /],
    ["gpu_registry: ''\n", /line 1: gpu_registry: /],
    [`# ${"x".repeat(settingsFileChars)}`, /longer than/],
  ];
  for (const [text, message] of cases) assert.match(errorOf(text), message, text.slice(0, 100));
  assert.match(errorOf("a: 1\nb: 2\n"), /line 1: there is no a; line 2: there is no b/);
});

test("an empty document is rejected, with the text for the defaults", () => {
  for (const text of ["", " \n", "# nothing\n", "---\n", "null\n", "~"]) {
    assert.match(errorOf(text), /config\.yaml is refused: it is empty; for the defaults write `version: v1`/, text);
  }
});

test("exponentially growing aliases are rejected", () => {
  const doubling = Array.from({ length: 20 }, (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}]`);
  assert.match(errorOf(`a0: &a0 [x]\n${doubling.join("\n")}`), /refused/);
});

test("no text makes the reader throw anything but a rejection", () => {
  const snippet = fc.constantFrom(
    ..."version: |cluster_storage: |exclude: |nodes: |node_storage: |node_filter: |classes: |beta2|^a|[|]|{|}|- |, ".split(
      "|",
    ),
    ..."\n|\n  |\n    |&a |*a|!!|'|\"|# |--- |~|1|\t".split("|"),
  );
  fc.assert(
    fc.property(fc.array(snippet, { maxLength: 25 }), (parts) => {
      try {
        parseInventoryConfig(parts.join(""));
      } catch (thrown) {
        assert.ok(ProviderError.is(thrown, "AKP_INVENTORY_CONFIG_REFUSED"), String(thrown));
      }
    }),
    { numRuns: runs(300, 20_000) },
  );
});
