/** `npm run bench -- NAME …` runs those benchmarks, without a name all of them, one after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
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

const toRun = names.filter((name) => chosen.length === 0 || chosen.includes(name));
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
