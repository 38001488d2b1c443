/** Makes the generated pages of docs/. With --check it writes nothing and fails when a page is out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configurationPage } from "./configuration-page.ts";
import { errorsPage } from "./error-page.ts";

const folder = join(import.meta.dirname, "..", "docs");
const pages = { "configuration.md": configurationPage(), "errors.md": errorsPage() };

const checkOnly = process.argv.includes("--check");
for (const [name, text] of Object.entries(pages)) {
  const path = join(folder, name);
  if (!checkOnly) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`docs/${name} is not what the source says; run \`npm run docs\` and commit the result`);
    process.exitCode = 1;
  }
}
