import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig, printConfig, printConfigAsJson } from "./load.ts";
import { liveSettings } from "./table.ts";

const loaded = loadConfig({
  flags: { "shutdown-timeout": "90s", "provider-config": "p.yaml" },
  env: {
    HOME: "/root",
    AKASH_NODE: "https://me:word@rpc.example.com",
    AP_REDIS_PASSWORD: "hunter2",
    AP_TX_BROADCAST_TIMEOUT: "1m",
  },
  readFile: () => "attributes: [{key: region, value: us-west}, {key: host, value: akash}]",
});

test("every setting is printed with its value and where it came from", () => {
  const lines = printConfig(loaded).split("\n");
  const rows = new Map(lines.map((line) => line.split(/ {2,}/)).map(([setting = "", ...rest]) => [setting, rest]));
  assert.deepEqual(rows.get("shutdown-timeout"), ["1m30s", "flag --shutdown-timeout"]);
  assert.deepEqual(rows.get("node"), ["https://(hidden)@rpc.example.com", "environment AKASH_NODE"]);
  assert.deepEqual(rows.get("redis-password"), ["(set, hidden)", "environment AP_REDIS_PASSWORD"]);
  assert.deepEqual(rows.get("attributes"), ["region=us-west, host=akash", "p.yaml:1"]);
  assert.deepEqual(rows.get("data-dir"), ["/root/.akash/provider", "default"]);
  assert.deepEqual(rows.get("metrics-listener"), ["(not set)", "default"]);
  assert.equal(rows.get("deployment-blocked-hostnames")?.[0], "(none)");
  for (const [, { flag, key }] of liveSettings) assert.ok(rows.has(flag ?? key ?? ""), flag ?? key);
});

test("the columns are aligned, and the warnings come last", () => {
  const lines = printConfig(loaded).trimEnd().split("\n");
  const column = lines[0]?.indexOf("VALUE") ?? 0;
  for (const line of lines.slice(0, -2)) assert.match(line.slice(column - 1, column + 1), /^ \S/, line);
  assert.match(lines.at(-1) ?? "", /^warning: environment AP_TX_BROADCAST_TIMEOUT has no effect/);
});

test("as JSON it says the same", () => {
  const { settings, warnings } = JSON.parse(printConfigAsJson(loaded));
  assert.deepEqual(settings["shutdown-timeout"], { value: "1m30s", source: "flag --shutdown-timeout" });
  assert.deepEqual(settings["metrics-listener"], { value: null, source: "default" });
  assert.equal(Object.keys(settings).length, liveSettings.length);
  assert.deepEqual(warnings, loaded.warnings);
});
