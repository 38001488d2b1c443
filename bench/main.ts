/** `npm run bench -- NAME …` runs those benchmarks, without a name all of them, one after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { status } from "../lab/lab.ts";
import { createOwner } from "../test/owner.ts";
import { startFakeCluster } from "./fake-cluster.ts";
import { nodeFlags } from "./node-flags.ts";

const folder = import.meta.dirname;
const names = globSync("*.bench.ts", { cwd: folder })
  .map((path) => basename(path, ".bench.ts"))
  .sort();
const chosen = process.argv.slice(2);
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
// Last, because the cluster keeps the machine busy for as long as it is there.
const last = onFakeCluster.filter((name) => toRun.includes(name));
for (const name of toRun) if (!last.includes(name)) await run(name);
if (last.length > 0) {
  await using owner = createOwner();
  const kubeconfig = await startFakeCluster(owner);
  if (kubeconfig !== undefined) for (const name of last) await run(name, kubeconfig);
}

/** Each in a process of its own: one must not inherit the heap of another. */
async function run(name: string, ...args: string[]): Promise<void> {
  const file = JSON.stringify(join(folder, `${name}.bench.ts`));
  const program = `const { bench } = await import(${file}); await bench(...process.argv.slice(1));`;
  const options = [...nodeFlags, "--input-type=module", "--eval", program, "--", ...args];
  const [status] = await once(spawn(process.execPath, options, { stdio: "inherit" }), "exit");
  if (status !== 0) process.exitCode = 1;
}
