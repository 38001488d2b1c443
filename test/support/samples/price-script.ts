/** Real price scripts for tests, and what is left of them. */
import { chmodSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCodeOf } from "../../../src/runtime/errors.ts";

export function writeScript(folder: string, body: string, name = "price.sh"): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Seconds to sleep that nobody else on this machine sleeps, so that it can be found by them. */
export function longTime(): string {
  return `${900 + (process.pid % 97)}.${process.pid}`;
}

/** How many processes have this text in their command line. */
export function processesWith(text: string): number {
  return processIds().filter((pid) => fileOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").includes(text)).length;
}

/** Those that we started and that ended without being asked how. */
export function zombiesOfOurs(): string[] {
  const isZombie = new RegExp(`\\) Z ${process.pid} `);
  return processIds().filter((pid) => isZombie.test(fileOf(`/proc/${pid}/stat`)));
}

/** How many pipes and files this process holds open. */
export function openFiles(): number {
  return readdirSync("/proc/self/fd").filter((fd) => ifThere(() => readlinkSync(`/proc/self/fd/${fd}`)) !== "").length;
}

export function linesOf(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").filter(Boolean);
}

function processIds(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

function fileOf(path: string): string {
  return ifThere(() => readFileSync(path, "utf8"));
}

/** Processes come and go while one looks. */
function ifThere(look: () => string): string {
  try {
    return look();
  } catch (thrown) {
    if (["ENOENT", "ESRCH"].includes(systemCodeOf(thrown) ?? "")) return "";
    throw thrown;
  }
}
