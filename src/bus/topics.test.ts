import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { payloadProblem, topicNames, topics, topicsMatching } from "./topics.ts";

const src = join(import.meta.dirname, "..");

test("a pattern matches the topics that begin like it, a topic only itself", () => {
  assert.deepEqual(topicsMatching("*"), topicNames);
  assert.deepEqual(topicsMatching("inventory.*"), ["inventory.cluster", "inventory.nodes", "inventory.storage"]);
  assert.deepEqual(topicsMatching("akash.provider.balance.wal*"), ["akash.provider.balance.wallet"]);
  assert.deepEqual(topicsMatching("inventory.nodes"), ["inventory.nodes"]);
  for (const strange of ["", "inventory", "inventory.nodes.x", "toString", "akash.nowhere.*"]) {
    assert.deepEqual(topicsMatching(strange), [], strange);
  }
});

test("events have exactly their fields", () => {
  const lease = "akash1owner/7/1/1/akash1provider";
  const manifest = "akash.provider.event.manifest";
  assert.equal(payloadProblem(manifest, { kind: "ManifestReceived", lease, version: "aa" }), undefined);
  assert.match(payloadProblem(manifest, { kind: "ManifestReceived", lease }) ?? "", /^version: /);
  const event = "akash.provider.event.lease";
  assert.match(payloadProblem(event, { kind: "LeaseOpened", lease }) ?? "", /^kind: /);
  assert.match(payloadProblem(event, { kind: "LeaseClosed", lease, why: "" }) ?? "", /why/);
  assert.match(payloadProblem("akash.provider.event.order", { kind: "OrderCreated", order: "" }) ?? "", /^order: /);
});

test("a status is any JSON object, and nothing else", () => {
  assert.equal(payloadProblem("inventory.nodes", { nodes: [{ cpu: 1 }] }), undefined);
  for (const data of [null, 1, "text", [], undefined]) {
    assert.equal(payloadProblem("inventory.nodes", data), "this is not a JSON object");
  }
});

test("every topic has a publisher", () => {
  const publishing = globSync("{balance,bidengine,cluster,gateway,manifest,operators,provider}/**/*.ts", { cwd: src })
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => readFileSync(join(src, path), "utf8"))
    .filter((text) => /publish/i.test(text));
  const silent = topicNames.filter((name) => !publishing.some((text) => text.includes(`"${name}"`)));
  assert.deepEqual(silent, []);
});

test("docs/bus.md names every topic, whether it is retained, and every field of its payload", () => {
  const rows = readFileSync(join(src, "../docs/bus.md"), "utf8").split("\n");
  for (const topic of topicNames) {
    const { payload, retained } = topics[topic];
    const row = rows.find((line) => line.startsWith(`| \`${topic}\` `)) ?? "";
    assert.ok(row.includes(retained ? "| yes |" : "| no |"), `${topic}: ${row}`);
    const fields: object = payload instanceof z.ZodObject ? payload.shape : {};
    for (const field of Object.keys(fields)) assert.ok(row.includes(`\`${field}\``), `${topic}: ${field}`);
  }
});
