import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../src/config/load.ts";
import { groups, liveSettings } from "../src/config/table.ts";
import { configurationPage } from "./configuration-page.ts";

test("the page names every setting, dead ones too, and every key of provider.yaml", () => {
  const page = configurationPage();
  for (const [, { flag, key, format }] of liveSettings) {
    if (flag !== undefined && !format.isSecret) assert.ok(page.includes(`\`--${flag} `), flag);
    if (key !== undefined) assert.ok(page.includes(`\`${key}`), key);
  }
  for (const { flag } of groups.flatMap(({ inert }) => inert)) assert.ok(page.includes(`\`--${flag}\``), flag);
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
