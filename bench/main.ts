/** `npm run bench -- NAME …` runs those benchmarks, without a name all of them, one after the other. */
import { globSync } from "node:fs";
import { basename, join } from "node:path";

const names = globSync("*.bench.ts", { cwd: import.meta.dirname })
  .map((path) => basename(path, ".bench.ts"))
  .sort();
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(1);
}
for (const name of chosen.length > 0 ? chosen : names) {
  const { bench } = (await import(join(import.meta.dirname, `${name}.bench.ts`))) as { bench: () => Promise<void> };
  await bench();
}
