/** The go command in a program's folder. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { needProgram } from "./machine.ts";
import type { ProgramName } from "./programs.ts";

export function folderOf(name: ProgramName): string {
  return join(import.meta.dirname, name);
}

export function go(name: ProgramName, ...args: string[]): string {
  return execFileSync(needProgram("go"), args, {
    cwd: folderOf(name),
    env: goEnvironment(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    // The names of some thousand packages.
    maxBuffer: 16 * 1024 * 1024,
  });
}

/** Without C, so that a program runs in an image that holds nothing else. */
export function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" };
}

/** Where a module's files are, in the version that the program's go.mod says. */
export function moduleFolder(name: ProgramName, module: string): string {
  return (JSON.parse(go(name, "mod", "download", "-json", module)) as { Dir: string }).Dir;
}

/** Arguments for a Go build with one file of a module replaced: Go requires a whole copy of the module. */
export function withReplacement(
  name: ProgramName,
  { module, file, ours }: { module: string; file: string; ours: string },
  scratch: string,
): string[] {
  const copy = join(scratch, "module");
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  cpSync(moduleFolder(name, module), copy, { recursive: true });
  // Go keeps its modules read-only, and a copy is as its original.
  for (const path of globSync("**/", { cwd: copy })) chmodSync(join(copy, path), 0o755);
  rmSync(join(copy, file));
  copyFileSync(join(folderOf(name), ours), join(copy, file));
  const modFile = join(scratch, "go.mod");
  writeFileSync(modFile, `${readFileSync(join(folderOf(name), "go.mod"), "utf8")}\nreplace ${module} => ${copy}\n`);
  copyFileSync(join(folderOf(name), "go.sum"), join(scratch, "go.sum"));
  return [`-modfile=${modFile}`];
}
