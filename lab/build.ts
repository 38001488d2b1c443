/** Builds the lab's Go programs once per content; later runs, and other checkouts, find them in the cache. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { realClock } from "../src/runtime/clock.ts";
import { folderOf, go, goEnvironment, moduleFolder, withReplacement } from "./go.ts";
import { needProgram } from "./machine.ts";
import { places } from "./places.ts";
import { type ProgramName, programs } from "./programs.ts";
import { say } from "./say.ts";

/** Often enough to see that it lives, seldom enough to leave a readable log. */
const progressMs = 15_000;

/** Where the program for this source is or will be. */
export function binaryOf(name: ProgramName): string {
  const { package: path, instead, definitions } = programs[name];
  const hash = createHash("sha256").update(JSON.stringify([path, instead, definitions, flagsOf(name)]));
  for (const file of globSync("{go.mod,go.sum,*.go}", { cwd: folderOf(name) }).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(folderOf(name), file)));
  }
  return join(places.cache, hash.digest("hex").slice(0, 16), name);
}

export function kubeBinary(): string {
  return binaryOf("kube");
}

export function isBuilt(name: ProgramName = "kube"): boolean {
  return existsSync(binaryOf(name));
}

/** A YAML file of the custom resources that a program brings. */
export function definitionsOf(name: ProgramName): string {
  return join(dirname(binaryOf(name)), "definitions.yaml");
}

/** The path of the program, built first if need be. */
export async function buildProgram(name: ProgramName): Promise<string> {
  const target = binaryOf(name);
  if (existsSync(target)) return target;
  mkdirSync(dirname(target), { recursive: true });
  say(`building ${name}`);
  // A build that was cut short must not look like a finished one.
  const unfinished = `${target}.${process.pid}`;
  const scratch = `${unfinished}.modules`;
  try {
    await compile(name, unfinished, scratch);
    collectDefinitions(name);
    renameSync(unfinished, target);
  } finally {
    rmSync(unfinished, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
  return target;
}

function flagsOf(name: ProgramName): string[] {
  const { stamps = {} } = programs[name];
  const stamping = Object.entries(stamps).map(([variable, value]) => `-X ${variable}=${value}`);
  // The checkout's path must not be part of what is built, or no second checkout could share Go's own cache.
  return ["-trimpath", "-buildvcs=false", "-ldflags", ["-s", "-w", ...stamping].join(" ")];
}

async function compile(name: ProgramName, target: string, scratch: string): Promise<void> {
  const { instead, package: path = "." } = programs[name];
  const startedMs = realClock.monotonicMs();
  const seconds = () => Math.round((realClock.monotonicMs() - startedMs) / 1000);
  const modules = instead ? withReplacement(name, instead, scratch) : [];
  // Also downloads the modules, whose progress Go itself prints.
  const total = go(name, "list", "-deps", ...modules, path)
    .split("\n")
    .filter(Boolean).length;
  let compiled = 0;
  // -v prints each package as its compilation ends; those already in Go's cache are not printed.
  const args = ["build", "-v", "-o", target, ...modules, ...flagsOf(name), path];
  // A build may take its time; who works on this machine meanwhile should not notice.
  const child = spawn("nice", [needProgram("go"), ...args], {
    cwd: folderOf(name),
    env: goEnvironment(),
    stdio: ["ignore", "inherit", "pipe"],
  });
  const complaints: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n").filter(Boolean)) {
      if (/\s/.test(line)) complaints.push(line);
      else compiled++;
    }
  });
  let timer = realClock.timer(progressMs, function tick() {
    say(`  ${compiled} of at most ${total} packages compiled, ${seconds()} s`);
    timer = realClock.timer(progressMs, tick);
  });
  try {
    const end = await new Promise<number | string | null>((resolve, reject) =>
      child.on("error", reject).on("close", (status, signal) => resolve(signal ?? status)),
    );
    if (end !== 0) {
      throw new Error(`go build in ${folderOf(name)} ended with ${end}:\n${complaints.slice(-20).join("\n")}`);
    }
  } finally {
    timer.cancel();
  }
  say(`built ${name} in ${seconds()} s`);
}

function collectDefinitions(name: ProgramName): void {
  const { definitions = [] } = programs[name];
  const documents = definitions.flatMap(({ module, files }) => {
    const folder = moduleFolder(name, module);
    return globSync(files, { cwd: folder })
      .sort()
      .map((file) => readFileSync(join(folder, file), "utf8"));
  });
  if (documents.length > 0) writeFileSync(definitionsOf(name), documents.join("\n---\n"));
}
