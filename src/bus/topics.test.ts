import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { matches, problemWith, streamNames, streamOf, streamsMatching } from "./topics.ts";

test("a topic lives in the stream of its name, a member of a family in that of the family", () => {
  assert.equal(streamOf("inventory.nodes"), "inventory.nodes");
  assert.equal(streamOf("akash.provider.balance.wallet"), "akash.provider.balance.*");
  assert.equal(streamOf("akash.provider.balance.escrow.summary"), "akash.provider.balance.*");
});

test("what is in no list is no topic, and neither is a pattern or a name that would make a strange key", () => {
  const strange = [
    "",
    "inventory",
    "inventory.nodes.x",
    "toString",
    "akash.provider.balance.*",
    "akash.provider.balance.",
  ];
  const unsafe = [
    "akash.provider.balance.a b",
    "akash.provider.balance.\n",
    `akash.provider.balance.${"x".repeat(101)}`,
  ];
  for (const topic of [...strange, ...unsafe]) assert.equal(streamOf(topic), undefined, topic);
});

test("a pattern finds every stream that may hold one of its topics", () => {
  assert.deepEqual(streamsMatching("*"), streamNames);
  assert.deepEqual(streamsMatching("inventory.*"), ["inventory.cluster", "inventory.nodes", "inventory.storage"]);
  assert.deepEqual(streamsMatching("inventory.nodes"), ["inventory.nodes"]);
  assert.deepEqual(streamsMatching("akash.provider.balance.*"), ["akash.provider.balance.*"]);
  assert.deepEqual(streamsMatching("akash.provider.balance.wal*"), ["akash.provider.balance.*"]);
  assert.deepEqual(streamsMatching("akash.provider.balance.wallet"), ["akash.provider.balance.*"]);
  assert.deepEqual(streamsMatching("akash.nowhere.*"), []);
});

test("a pattern matches what begins like it, a topic only itself", () => {
  assert.ok(matches("inventory.*", "inventory.nodes"));
  assert.ok(!matches("inventory.nodes", "inventory.nodes2" as never));
  assert.ok(!matches("akash.provider.balance.wal*", "akash.provider.balance.escrow"));
});

test("events have exactly their fields", () => {
  const lease = "akash1owner/7/1/1/akash1provider";
  assert.equal(
    problemWith("akash.provider.event.manifest", { kind: "ManifestReceived", lease, version: "aa" }),
    undefined,
  );
  assert.match(problemWith("akash.provider.event.manifest", { kind: "ManifestReceived", lease }) ?? "", /^version: /);
  assert.match(problemWith("akash.provider.event.lease", { kind: "LeaseOpened", lease }) ?? "", /^kind: /);
  assert.match(problemWith("akash.provider.event.lease", { kind: "LeaseClosed", lease, why: "" }) ?? "", /why/);
  assert.match(problemWith("akash.provider.event.order", { kind: "OrderCreated", order: "" }) ?? "", /^order: /);
});

test("a status is any JSON object, and nothing else", () => {
  assert.equal(problemWith("inventory.nodes", { nodes: [{ cpu: 1 }] }), undefined);
  for (const data of [null, 1, "text", [], undefined]) {
    assert.equal(problemWith("inventory.nodes", data), "this is not a JSON object");
  }
});

test("every topic has a publisher", () => {
  const src = join(import.meta.dirname, "..");
  const publishing = globSync("{balance,bidengine,cluster,gateway,manifest,operators,provider}/**/*.ts", { cwd: src })
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => readFileSync(join(src, path), "utf8"))
    .filter((text) => text.includes(".publish("));
  const isPublished = (name: string) => {
    const named = name.endsWith("*") ? `"${name.slice(0, -1)}` : `"${name}"`;
    return publishing.some((text) => text.includes(named));
  };
  assert.deepEqual(
    streamNames.filter((name) => !isPublished(name)),
    [],
  );
});
