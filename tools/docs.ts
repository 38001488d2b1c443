/** Makes what is made of something else: pages of docs/, and code of proto/. With --check it writes nothing and fails when one is out of date. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cliPage } from "./cli-page.ts";
import { configurationPage } from "./configuration-page.ts";
import { errorsPage } from "./error-page.ts";
import { protoCode } from "./proto-code.ts";

const root = join(import.meta.dirname, "..");
const made = {
  "docs/cli.md": await cliPage(),
  "docs/configuration.md": configurationPage(),
  "docs/errors.md": errorsPage(),
  "src/runtime/grpc/akash-proto.ts": formatted(protoCode()),
};

const checkOnly = process.argv.includes("--check");
for (const [name, text] of Object.entries(made)) {
  const path = join(root, name);
  if (!checkOnly) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`${name} is not what its source says; run \`npm run docs\` and commit the result`);
    process.exitCode = 1;
  }
}

/** As all code is. */
function formatted(code: string): string {
  const biome = join(root, "node_modules", ".bin", "biome");
  const { stdout, stderr, status } = spawnSync(biome, ["format", "--stdin-file-path=made.ts"], {
    ...{ cwd: root, input: code, encoding: "utf8" },
  });
  if (status !== 0) throw new Error(`the code made of proto/ cannot be formatted: ${stderr}`);
  return stdout;
}
