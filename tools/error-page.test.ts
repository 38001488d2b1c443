import assert from "node:assert/strict";
import { test } from "node:test";
import { catalogue, exitCodes } from "../src/runtime/catalogue.ts";
import { errorsPage } from "./error-page.ts";

test("every code is on the page once, with all that the catalogue says of it", () => {
  const sections = errorsPage().split("\n### ").slice(1);
  assert.deepEqual(sections.map((section) => section.split("\n")[0]).sort(), Object.keys(catalogue).sort());
  for (const section of sections) {
    const [code = ""] = section.split("\n");
    const entry = catalogue[code as keyof typeof catalogue];
    const { message, advice, http, grpc, exit } = entry;
    for (const line of message.split("\n")) assert.ok(section.includes(`> ${line}\n`), code);
    assert.ok(section.includes(`\n${advice}\n`), code);
    assert.ok(section.includes(`HTTP ${http} · gRPC ${grpc} · exit code ${exit}\n`), code);
  }
});

test("codes of one area stand together under its title", () => {
  const titles = errorsPage()
    .split("\n")
    .filter((line) => line.startsWith("## ") || line.startsWith("### "));
  const areaOf = (code: string) =>
    titles.slice(0, titles.indexOf(`### ${code}`)).findLast((line) => line.startsWith("## "));
  assert.equal(areaOf("AKP_SETTING_UNKNOWN"), "## Settings");
  assert.equal(areaOf("AKP_DISK_FULL"), "## Data directory and journal");
  assert.equal(areaOf("AKP_INTERNAL"), "## Running");
  const areas = titles.filter((line) => line.startsWith("## "));
  assert.equal(new Set(areas).size, areas.length, "each area has one title");
});

test("every exit code is explained", () => {
  for (const code of Object.values(exitCodes)) assert.match(errorsPage(), new RegExp(`^\\| ${code} \\| \\w`, "m"));
});

test("the page is the same each time, and ends with one line break", () => {
  assert.equal(errorsPage(), errorsPage());
  assert.match(errorsPage(), /[^\n]\n$/);
});
