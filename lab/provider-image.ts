/**
 * What our own image holds: Node with the libraries it needs, our sources (also stripped and compiled), and the packages
 * that production needs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { needProgram } from "./machine.ts";
import type { Entry } from "./tar.ts";

const root = join(import.meta.dirname, "..");

/** What seldom changes comes first: containerd keeps a layer that it knows. */
export function providerLayers(): Entry[][] {
  const node = join(root, "node_modules/node/bin/node");
  const runtime = [fileOf(node, "bin/node"), ...librariesOf(node).map((path) => fileOf(path, path.slice(1)))];
  // Maps for debuggers are half of the packages' size, and nobody debugs in there.
  const packages = productionPackages().flatMap((folder) => below(folder).filter((path) => !path.endsWith(".map")));
  const ours = ["package.json", ...below("bin"), ...below("src").filter((path) => !path.endsWith(".test.ts"))];
  // As an installation would have it: without it every pod strips types anew, in memory that it never gives back.
  execFileSync(process.execPath, [join(root, "tools/compile.js")]);
  const compiled = below("node_modules/.cache/akash-provider");
  const inApp = (path: string) => fileOf(join(root, path), `app/${path}`);
  return [runtime, packages.map(inApp), [...ours, ...compiled].map(inApp)].map(withFolders);
}

/** Relative to the checkout. Packages inside packages are listed on their own. */
function below(folder: string): string[] {
  return globSync(`${folder}/**/*`, { cwd: root, exclude: (path) => path === `${folder}/node_modules` })
    .filter((path) => statSync(join(root, path)).isFile())
    .sort();
}

/** The lock file knows which packages only development needs, and may name some of other platforms. */
function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path.startsWith("node_modules/") && !dev && existsSync(join(root, path)))
    .map(([path]) => path);
}

/** The shared libraries of a program, the loader among them. */
function librariesOf(program: string): string[] {
  const listed = execFileSync(needProgram("ldd"), [program], { encoding: "utf8" });
  return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
}

function fileOf(from: string, path: string): Entry {
  return { path, from, mode: statSync(from).mode & 0o777 };
}

/** A folder has to come before what is in it. */
function withFolders(files: readonly Entry[]): Entry[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) folders.add(folder);
  }
  return [...[...folders].sort().map((folder) => ({ path: `${folder}/`, folder: true })), ...files];
}
