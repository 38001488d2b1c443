/** `npm run bench -- NAME …` runs those benchmarks, without a name all of them, one after the other. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename, join } from "node:path";

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

/** `gc` for honest readings of memory, and the young generation as small as bin/akash-provider keeps it. */
const flags = ["--expose-gc", "--max-semi-space-size=4"];

// Each in a process of its own: one must not inherit the heap of another.
for (const name of chosen.length > 0 ? chosen : names) {
  const file = JSON.stringify(join(folder, `${name}.bench.ts`));
  const program = `const { bench } = await import(${file}); await bench();`;
  const args = [...flags, "--input-type=module", "--eval", program];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
