/**
 * Runs the tests: `npm test` a sample of everything, `npm run test:long` every kind of boundary, `npm run soak` large counts
 * with a random seed, `npm run test:lab` those that need a real cluster, `*.alone.test.ts` after those that share it. Words after it
 * choose files by part of their path. Skipped tests are listed at the end; in CI a skipped one is a failure.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { shareControlPlane } from "../lab/own-control-plane.ts";
import { createOwner } from "../test/support/owner.ts";

const root = join(import.meta.dirname, "..");
const options = ["--long", "--soak", "--lab"];
const words = process.argv.slice(2).filter((word) => !options.includes(word));
const [long, soak, lab] = options.map((option) => process.argv.includes(option));
if (long) process.env["TEST_EFFORT"] = "long";
if (soak) {
  process.env["TEST_EFFORT"] = "soak";
  process.env["TEST_SEED"] ??= String(randomInt(2 ** 30));
  console.log(`Seed ${process.env["TEST_SEED"]}: TEST_SEED=${process.env["TEST_SEED"]} repeats this run.`);
}
const lightTests = pathToFileURL(join(root, "tools/light-tests.ts")).href;
const cache = join(root, "node_modules/.cache/tests");
// What one process has stripped of its types and compiled, the next need not.
process.env["NODE_COMPILE_CACHE"] ??= cache;

/** From the longest on: begun last, one of them would be left alone on the machine. */
const longest = [
  ...[
    "gateway/streams-load",
    "provider/history",
    "bidengine/bidengine-kill",
    "balance/money-kill",
    "operators/ip-crash",
    "balance/money-history",
  ],
  ...["cli/program-demo", "cli/tenant-commands", "provider/alerts"],
  // Tests of leases wait until the inventory has left the node.
  ...["lab/inventory", "lab/hostnames", "lab/slow-readers", "lab/kube-faults", "lab/adoption.recorded"],
  ...["lab/kube-contract", "lab/network-policy", "lab/lease", "lab/lease-history"],
].map((name) => `test/${name}.test.ts`);
const rank = (path: string) => (longest.includes(path) ? longest.indexOf(path) : longest.length);

const files = globSync("{src,test,tools,bench,lab}/**/*.test.ts", { cwd: root })
  .filter((path) => path.startsWith("test/lab/") === (lab === true))
  // Test data that the repository may not contain: test/support/vectors.ts.
  .filter((path) => !path.endsWith(".vectors.test.ts") || process.env["VECTORS"])
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort()
  .sort((one, other) => rank(one) - rank(other))
  .map((path) => join(root, path))
  .filter((path) => !long || mentions(path, /^export const thorough\b/m))
  .filter((path) => !soak || mentions(path, /^export const soaking\b/m));
if (files.length === 0) {
  console.error(`no test file of this kind has ${words.join(" or ")} in its path`);
  process.exit(1);
}

/** Few enough that one batch does not hold up the end, when the others are through; files below test/ take longer. */
const batchFiles = 36;
const wholeBatchFiles = 24;
/** Young garbage is collected often in the space that is usual, which costs a tenth of the work of our tests. */
const execArgv = ["--max-semi-space-size=32", "--import", lightTests];
const skipped: string[] = [];
// One file may take this long; a promise that never settles would else hold up everything for ever. A real cluster takes its
// time to start and end pods.
const timeout = (soak ? 120 : lab || long ? 20 : 5) * 60_000;
// Node would leave one core idle, and tests of whole programs often wait for a process or a clock. The lab has work of its own.
const concurrency = availableParallelism() + (lab ? 1 : 3);
const isWhole = words.length === 0 && !long && !soak && !lab;
const isAlone = (path: string) => path.endsWith(".alone.test.ts");
/** What takes machines of the cluster away would take them from the others; beside it runs what has a control plane of its own. */
const isBesideAlone = (path: string) => isAlone(path) || (lab && !mentions(path, /labIsMissing|lab\/places/));
// Tests that only read and write objects need no control plane of their own.
await using owner = createOwner();
if (lab) await shareControlPlane(owner);
const turns = [files.filter((path) => !isBesideAlone(path)), files.filter(isBesideAlone)].filter(
  (turn) => turn.length > 0,
);
for (const turn of turns) await runAll(isWhole ? inBatches(turn) : turn);
if (skipped.length > 0) {
  console.log(`\nNot run:\n${skipped.map((name) => `  - ${name}`).join("\n")}`);
  // What only root may do is run by .ci/run as root besides.
  const isRoot = process.getuid?.() === 0;
  if (process.env["CI"] && skipped.some((name) => isRoot || !name.includes("only root"))) {
    console.log("In CI everything runs: a skipped test is a failure.");
    process.exitCode = 1;
  }
}

async function runAll(paths: string[]): Promise<void> {
  const stream = run({ files: paths, timeout, concurrency, execArgv: lab ? [] : execArgv });
  stream.on("test:pass", ({ name, skip }) => {
    if (skip !== undefined && skip !== false)
      skipped.push(typeof skip === "string" && skip ? `${name} (${skip})` : name);
  });
  stream.on("test:fail", () => {
    process.exitCode = 1;
  });
  const report = stream.compose(spec);
  report.pipe(process.stdout, { end: false });
  await once(report, "end");
}

/**
 * Loading the code takes most tests longer than running does, so several files share a process. What starts programs, or
 * measures its own, has one for itself.
 */
function inBatches(paths: readonly string[]): string[] {
  const folder = join(cache, "batches");
  mkdirSync(folder, { recursive: true });
  const alone = paths.filter(needsOwnProcess);
  const isBesideCode = (path: string) => path.startsWith(join(root, "src/"));
  const shared = paths.filter((path) => !alone.includes(path));
  const groups = [
    ...deal(
      shared.filter((path) => !isBesideCode(path)),
      wholeBatchFiles,
    ),
    ...deal(shared.filter(isBesideCode), batchFiles),
  ];
  const batches = groups.map((group, number) => {
    const path = join(folder, `${number}.mjs`);
    const imports = group.map((each) => `import ${JSON.stringify(pathToFileURL(each).href)};\n`);
    writeFileSync(path, imports.join(""));
    return path;
  });
  return [...alone, ...batches];
}

/** Files with the same first word often take long together, so neighbours go to different batches. */
function deal(paths: readonly string[], most: number): string[][] {
  const count = Math.ceil(paths.length / most);
  return Array.from({ length: count }, (_, index) => paths.filter((_, at) => at % count === index));
}

function needsOwnProcess(path: string): boolean {
  return mentions(path, /child_process|worker_threads|memoryUsage|--expose-gc|process\.(exit|once|on)\b/);
}

/** Whether the file, or one that it shares with other tests, has this in its text. */
function mentions(path: string, what: RegExp, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (what.test(text)) return true;
  return [...text.matchAll(/ from "(\.[^"]+\.ts)"/g)].some(([, name = ""]) => {
    const imported = join(dirname(path), name);
    return imported.startsWith(join(root, "test/")) && mentions(imported, what, seen);
  });
}
