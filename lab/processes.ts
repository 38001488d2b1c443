/** Starts and stops the lab's long-lived processes, and finds them again from a later command. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { readIfThere } from "./files.ts";
import { programFolders } from "./machine.ts";
import { places } from "./places.ts";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Files that it reads once, when it starts: it has to start anew when they change. */
  readonly reads?: readonly string[];
}

interface Recorded {
  readonly pid: number;
  /** The kernel's start time of the process: a reused ID belongs to another process. */
  readonly started: string;
  readonly command: string;
}

/** etcd flushes and the kubelet says goodbye in well under this; afterwards they are killed. */
const manners = 5_000;

export function start(name: string, command: Command): void {
  mkdirSync(places.processes, { recursive: true });
  mkdirSync(places.logs, { recursive: true });
  const log = openSync(logFile(name), "a");
  const child = spawn(command.program, command.args, {
    detached: true,
    stdio: ["ignore", log, log],
    // Nothing of the caller's: a proxy setting, for one, would send the components' talk through it.
    env: { PATH: programFolders.join(delimiter) },
  });
  closeSync(log);
  // A program that cannot start counts as dead; its readiness check reports it.
  child.on("error", () => rmSync(recordFile(name), { force: true }));
  child.unref();
  if (child.pid === undefined) return;
  const record: Recorded = { pid: child.pid, started: startTime(child.pid) ?? "", command: line(command) };
  writeFileSync(recordFile(name), JSON.stringify(record));
}

/** The process id of a component that runs. */
export function running(name: string): number | undefined {
  const record = recorded(name);
  return record && startTime(record.pid) === record.started ? record.pid : undefined;
}

/** Whether it runs with these very arguments and files; if not, `up` starts it anew. */
export function runsAs(name: string, command: Command): boolean {
  return running(name) !== undefined && recorded(name)?.command === line(command);
}

export async function stop(name: string): Promise<void> {
  const pid = running(name);
  if (pid !== undefined) await end(pid);
  rmSync(recordFile(name), { force: true });
}

/** containerd's shims outlive it by design, so that it can be replaced under running containers. */
export async function stopShims(): Promise<void> {
  const shims = processesOf(places.containerdSocket).filter(({ program }) => program.startsWith("containerd-shim"));
  await Promise.all(shims.map(({ pid }) => end(pid)));
}

/** Every process with such an argument. */
export function processesOf(argument: string): { pid: number; program: string }[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const [program = "", ...args] = (readIfThere(`/proc/${pid}/cmdline`) ?? "").split("\0");
      const theirs = args.some((text) => text === argument || text.includes(`${argument}/`));
      return theirs ? [{ pid: Number(pid), program: basename(program) }] : [];
    });
}

export async function end(pid: number): Promise<void> {
  const started = startTime(pid);
  signal(pid, "SIGTERM");
  const deadline = realClock.monotonicMs() + manners;
  while (startTime(pid) === started && realClock.monotonicMs() < deadline) await sleep(realClock, 20);
  await kill(pid, started);
}

/** Kills a process. */
export async function kill(pid: number, started = startTime(pid)): Promise<void> {
  while (started !== undefined && startTime(pid) === started) {
    signal(pid, "SIGKILL");
    // The kernel needs a moment even then.
    await sleep(realClock, 20);
  }
}

export function logFile(name: string): string {
  return join(places.logs, `${name}.log`);
}

export function lastLines(name: string, count: number): string {
  return (readIfThere(logFile(name)) ?? "").trimEnd().split("\n").slice(-count).join("\n");
}

function recordFile(name: string): string {
  return join(places.processes, `${name}.json`);
}

function recorded(name: string): Recorded | undefined {
  const text = readIfThere(recordFile(name));
  return text ? (JSON.parse(text) as Recorded) : undefined;
}

function line({ program, args, reads = [] }: Command): string {
  const digest = createHash("sha256");
  for (const path of reads) digest.update(readFileSync(path));
  return [program, ...args, digest.digest("hex")].join(" ");
}

/** Field 22 of /proc/PID/stat; a process that only waits to be reaped counts as gone. */
function startTime(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  // The name in parentheses may hold spaces; the fields after it do not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
