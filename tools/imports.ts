/** Holds the import direction of docs/map.md: a folder may import only what its row allows; and no name is exported twice. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";

const services = ["bidengine", "cluster", "manifest", "balance", "gateway", "conditions", "operators", "console"];
const outside = ["chain", "kube", "bus"];

/** The commands that show or serve the world in a box; nothing else of the product knows of it. */
const boxCommands = ["cli/demo.ts", "cli/chain.ts"];

/** From the top layer to the bottom. A service never imports another one: they meet in provider/. */
const mayImport: Record<string, readonly string[]> = {
  cli: ["config", "provider", ...services, ...outside, "journal", "market", "runtime"],
  provider: ["config", ...services, ...outside, "journal", "market", "runtime"],
  box: ["provider", ...services, ...outside, "journal", "market", "runtime"],
  ...Object.fromEntries(services.map((name) => [name, [...outside, "journal", "market", "runtime"]])),
  ...Object.fromEntries(outside.map((name) => [name, ["journal", "market", "runtime"]])),
  journal: ["market", "runtime"],
  config: ["market", "runtime"],
  market: ["runtime/errors"],
  runtime: [],
};

/** Folders within one of these, from the top to the bottom: none imports one above it, so there are no cycles. */
const layersWithin: Record<string, readonly string[]> = {
  chain: ["outbox", "tx", "comet", "keys", "codec"],
  "cluster/leases": ["tenant-pods", "occurrences", "reconcile", "declarations"],
  "cluster/capacity": ["reservations", "addresses", "inventory", "placement"],
  bidengine: ["decision", "policies", "pricing"],
  "operators/inventory": [
    "serving",
    "storage",
    "nodes",
    "accounting",
    "labels",
    "configuration",
    "gpu-names",
    "discovery",
  ],
};

/** What the services need of the outside, and the folders and files that give it: those import this, never the reverse. */
const implementations: Record<string, readonly string[]> = {
  "chain/chain.ts": ["chain/comet/", "chain/outbox/"],
  "chain/tx/broadcaster.ts": ["chain/comet/", "chain/tx/comet-broadcaster"],
  "kube/kube.ts": ["kube/client/", "kube/http/"],
  "bus/bus.ts": ["bus/memory", "bus/redis"],
};

export interface ImportFault {
  readonly file: string;
  readonly imports: string;
  readonly allowed: string;
}

/** The fault in one import of one file below src/, if there is one. */
export function judgeImport(file: string, target: string): ImportFault | undefined {
  const [from = ""] = file.split("/");
  const [to = ""] = target.split("/");
  if (implementations[file]?.some((start) => target.startsWith(start)))
    return { file, imports: target, allowed: "nothing of its implementations" };
  if (from === to) return judgeLayers(file, target);
  if (to === "box" && boxCommands.includes(file)) return undefined;
  const allowed = mayImport[from];
  if (!allowed) return { file, imports: target, allowed: `nothing: ${from}/ is not a folder of docs/map.md` };
  if (allowed.some((entry) => target === `${entry}.ts` || target.startsWith(`${entry}/`))) return undefined;
  return { file, imports: target, allowed: allowed.length > 0 ? allowed.join(", ") : "nothing of ours" };
}

function judgeLayers(file: string, target: string): ImportFault | undefined {
  for (const [folder, layers] of Object.entries(layersWithin)) {
    const layerOf = (path: string) => layers.findIndex((layer) => path.startsWith(`${folder}/${layer}/`));
    const [above, below] = [layerOf(target), layerOf(file)];
    if (above >= 0 && above < below) return { file, imports: target, allowed: layers.slice(below).join(", ") };
  }
  return undefined;
}

/** The modules a source text imports, type-only imports included: a direction is a direction. */
export function importedModules(source: string): string[] {
  const pattern = /(?:^|\n)\s*(?:import|export)\s[^"';]*?from\s*"([^"]+)"|import\s*\(?\s*"([^"]+)"/g;
  return [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
}

/** The names that a source text exports by a declaration. */
export function exportedNames(source: string): string[] {
  const pattern = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
  return [...source.matchAll(pattern)].map(([, name = ""]) => name);
}

function main(): number {
  const root = join(import.meta.dirname, "..", "src");
  const faults: ImportFault[] = [];
  const twice: string[] = [];
  const exporters = new Map<string, string>();
  for (const path of globSync("**/*.ts", { cwd: root })) {
    // Tests may reach across; what ships may not.
    if (path.endsWith(".test.ts")) continue;
    const source = readFileSync(join(root, path), "utf8");
    for (const name of path.startsWith("box") ? [] : exportedNames(source)) {
      const other = exporters.get(name);
      if (other !== undefined) twice.push(`src/${path} exports ${name}, as src/${other} does`);
      exporters.set(name, path);
    }
    for (const module of importedModules(source)) {
      if (!module.startsWith(".")) continue;
      const target = relative(root, normalize(join(root, dirname(path), module)))
        .split(sep)
        .join("/");
      const fault = target.startsWith("..")
        ? { file: path, imports: target, allowed: "only files below src/" }
        : judgeImport(path, target);
      if (fault) faults.push(fault);
    }
  }
  for (const fault of faults) {
    console.error(`src/${fault.file} imports ${fault.imports}; it may import ${fault.allowed}`);
  }
  for (const each of twice) console.error(each);
  return faults.length + twice.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main();
