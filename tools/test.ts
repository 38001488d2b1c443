/**
 * Runs the tests: `npm test` the quick ones, `npm run test:long` the same files with the large counts, `npm run test:lab`
 * those that need a real cluster. Words after it choose files by part of their path. Skipped tests are listed at the
 * end; in CI a skipped one is a failure.
 */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

const root = join(import.meta.dirname, "..");
const options = ["--long", "--lab"];
const words = process.argv.slice(2).filter((word) => !options.includes(word));
const lab = process.argv.includes("--lab");
if (process.argv.includes("--long")) process.env["TEST_LONG"] = "1";

const files = globSync("{src,test,tools,bench,lab}/**/*.test.ts", { cwd: root })
  .filter((path) => path.startsWith("test/lab/") === lab)
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort()
  .map((path) => join(root, path));
if (files.length === 0) {
  console.error(`no test file has ${words.join(" or ")} in its path`);
  process.exit(1);
}

const skipped: string[] = [];
// One file may take this long; a promise that never settles would else hold up everything for ever.
const timeout = (process.env["TEST_LONG"] ? 60 : 5) * 60_000;
// Node would leave one core idle.
const stream = run({ files, timeout, concurrency: availableParallelism() });
stream.on("test:pass", ({ name, skip }) => {
  if (skip !== undefined && skip !== false) skipped.push(typeof skip === "string" && skip ? `${name} (${skip})` : name);
});
stream.on("test:fail", () => {
  process.exitCode = 1;
});
const report = stream.compose(spec);
report.pipe(process.stdout);
report.on("end", () => {
  if (skipped.length === 0) return;
  console.log(`\nNot run:\n${skipped.map((name) => `  - ${name}`).join("\n")}`);
  if (process.env["CI"]) {
    console.log("In CI everything runs: a skipped test is a failure.");
    process.exitCode = 1;
  }
});
