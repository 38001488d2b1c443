import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "./load.ts";
import { configurationPage } from "./page.ts";
import { printConfig, printConfigAsJson } from "./print.ts";
import { groups, liveSettings } from "./table.ts";
import { noEffectYet } from "./used-settings.ts";

const loaded = loadConfig({
  flags: { "shutdown-timeout": "90s", "provider-config": "p.yaml" },
  env: {
    HOME: "/root",
    AKASH_NODE: "https://me:word@rpc.example.com",
    AP_REDIS_PASSWORD: "hunter2",
    AP_MINIMUM_BALANCE: "1",
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

test("settings that nothing reads yet are marked wherever they are told of, and the others are not", () => {
  const isMarked = new Map(liveSettings.map(([name, { flag, key }]) => [flag ?? key ?? "", noEffectYet(name) !== ""]));
  for (const line of printConfig(loaded).split("\n").slice(1)) {
    const [setting = ""] = line.split(" ");
    if (isMarked.has(setting)) assert.equal(line.endsWith(", no effect yet"), isMarked.get(setting), line);
  }
  const { settings } = JSON.parse(printConfigAsJson(loaded));
  for (const [setting, mark] of isMarked) assert.equal("effect" in settings[setting], mark, setting);
  for (const line of configurationPage().split("\n")) {
    const [, flag = ""] = /^\| `--(\S+) .*\|.*\|.*\|.*\|$/.exec(line) ?? [];
    if (isMarked.has(flag)) assert.equal(line.includes("| no effect yet |"), isMarked.get(flag), line);
  }
});

test("the columns are aligned, and the warnings come last", () => {
  const lines = printConfig(loaded).trimEnd().split("\n");
  const column = lines[0]?.indexOf("VALUE") ?? 0;
  for (const line of lines.slice(0, -2)) assert.match(line.slice(column - 1, column + 1), /^ \S/, line);
  assert.match(lines.at(-1) ?? "", /^warning: environment AP_MINIMUM_BALANCE has no effect/);
});

test("as JSON it says the same", () => {
  const { settings, warnings } = JSON.parse(printConfigAsJson(loaded));
  assert.deepEqual(settings["shutdown-timeout"], { value: "1m30s", source: "flag --shutdown-timeout" });
  assert.deepEqual(settings["metrics-listener"], { value: null, source: "default" });
  assert.equal(Object.keys(settings).length, liveSettings.length);
  assert.deepEqual(warnings, loaded.warnings);
});

test("the page names every setting, dead ones too, and every key of provider.yaml", () => {
  const page = configurationPage();
  for (const [, { flag, key, kind }] of liveSettings) {
    if (flag !== undefined && !kind.isSecret) assert.ok(page.includes(`\`--${flag} `), flag);
    if (key !== undefined) assert.ok(page.includes(`\`${key}`), key);
  }
  for (const setting of groups.flatMap(({ settings }) => Object.values(settings))) {
    if (setting.type !== "live") assert.ok(page.includes(`\`--${setting.flag}\``), setting.flag);
  }
  assert.ok(page.includes("AP_REDIS_PASSWORD_FILE"));
});

test("every row of the page's tables has as many cells as its head", () => {
  let cells = 0;
  for (const line of configurationPage().split("\n")) {
    const count = line.startsWith("|") ? line.replaceAll("\\|", "").split("|").length : 0;
    assert.ok(cells === 0 || count === 0 || count === cells, line);
    cells = count;
  }
});

test("the example on the page is a provider.yaml that is taken without a word", () => {
  const example = /```yaml\n(.*?)```/s.exec(configurationPage())?.[1] ?? "";
  const { sources, warnings } = loadConfig({
    flags: { "provider-config": "p.yaml" },
    env: {},
    readFile: () => example,
  });
  assert.deepEqual(warnings, []);
  for (const [name, { key }] of liveSettings) if (key !== undefined) assert.match(sources[name], /^p\.yaml:/, key);
});
