/**
 * `npm run bench -- [--smoke] NAME …` runs those benchmarks, without a name all of them, one after the other. With `--smoke`
 * counts are small, no bar is checked, and two run at a time.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, openSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { status } from "../lab/lab.ts";
import { inParallel } from "../src/runtime/in-parallel.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import { startFakeCluster } from "./fake-cluster.ts";
import { nodeFlags } from "./processes.ts";
import { round, smokeVariable } from "./report.ts";

const folder = import.meta.dirname;
const names = globSync("*.bench.ts", { cwd: folder })
  .map((path) => basename(path, ".bench.ts"))
  .sort();
const { values, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: "boolean", default: false } },
});
const unknown = chosen.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(1);
}

/** They share a large cluster, which takes a minute and a half to fill; the first one begins while it is small. */
const onFakeCluster = ["inventory", "watch"];

/** They measure on the lab's real cluster. */
const onLab = ["streams"];
const isLabUp = (await status()).up;
const wanted = names.filter((name) => chosen.length === 0 || chosen.includes(name));
const toRun = wanted.filter((name) => isLabUp || !onLab.includes(name));
for (const name of wanted.filter((each) => !toRun.includes(each))) {
  console.error(`${name} needs the lab, which is down: npm run lab -- up, then npm run bench -- ${name}`);
  // Where all are meant, it may be run by itself later.
  if (chosen.length > 0) process.exitCode = 1;
}
await using owner = createOwner();
const outputs = temporaryFolder(owner);
/** A line per benchmark. */
const summary: string[] = [];
const work = toRun.filter((name) => !onFakeCluster.includes(name)).map((name) => () => run(name));
// Last, because the cluster keeps the machine busy for as long as it is there.
work.push(() => runOnFakeCluster(onFakeCluster.filter((name) => toRun.includes(name))));
await inParallel(work, values.smoke ? 2 : 1, (each) => each());
if (summary.length > 1) console.error(summary.join("\n"));

async function runOnFakeCluster(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await using owner = createOwner();
  const kubeconfig = await startFakeCluster(owner);
  if (kubeconfig !== undefined) for (const name of names) await run(name, kubeconfig);
}

/** Each in a process of its own: one must not inherit the heap of another. */
async function run(name: string, ...args: string[]): Promise<void> {
  const startedMs = performance.now();
  const file = JSON.stringify(join(folder, `${name}.bench.ts`));
  const program = `const { bench } = await import(${file}); await bench(...process.argv.slice(1));`;
  const options = [...nodeFlags, "--input-type=module", "--eval", program, "--", ...args];
  const env = { ...process.env, ...(values.smoke && { [smokeVariable]: "1" }) };
  // Those that run at a time print one after the other.
  const output = join(outputs, name);
  const stdout = values.smoke ? openSync(output, "w") : "inherit";
  const [status] = await once(spawn(process.execPath, options, { stdio: ["ignore", stdout, "inherit"], env }), "exit");
  if (values.smoke) process.stdout.write(readFileSync(output));
  const outcome = status === 0 ? "ok" : "failed";
  summary.push(`${name}: ${outcome} in ${round((performance.now() - startedMs) / 1_000, 1)} s`);
  if (status !== 0) process.exitCode = 1;
}
