/** Runs a program with a text as input, within a time and a size, and kills its process group when it is over. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock, Timer } from "./clock.ts";
import { reasonOf, systemCodeOf } from "./errors.ts";

/** After its end, or our word to it, a program's pipes close at once unless something keeps them. */
const processEndMs = 500;

interface ProgramOptions {
  /** Executed directly, without a shell and without arguments. */
  readonly path: string;
  /** Beside what this process has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
  readonly limitMs: number;
  /** Of what it prints, and again of its errors. */
  readonly mostBytes: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface ProgramEnd {
  /** "late", "flooded" and "cancelled" are our doing; "killed" is somebody else's. */
  readonly how: "exited" | "killed" | "late" | "flooded" | "cancelled" | "not started";
  /** Of "exited". */
  readonly code?: number;
  /** Of "killed" the signal, of "not started" what the system said. */
  readonly reason?: string;
  readonly stdout: string;
  readonly stderr: string;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export async function runProgram(options: ProgramOptions): Promise<ProgramEnd> {
  const { path, env, input } = options;
  let child: Child;
  try {
    // In a group of its own, so that all of it can be ended together.
    child = spawn(path, [], { detached: true, stdio: "pipe", env: { ...process.env, ...env } });
  } catch (thrown) {
    return { how: "not started", reason: reasonOf(thrown), stdout: "", stderr: "" };
  }
  // A program need not read what it is told.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return untilEnded(child, options);
}

function untilEnded(child: Child, { limitMs, mostBytes, clock, signal }: ProgramOptions): Promise<ProgramEnd> {
  const printed = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const bytes = { stdout: 0, stderr: 0 };
  const timers: Timer[] = [];
  const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
  let ours: ProgramEnd["how"] | undefined;
  let over: Pick<ProgramEnd, "how" | "code" | "reason"> | undefined;

  function settle(): void {
    for (const timer of timers) timer.cancel();
    signal.removeEventListener("abort", cancel);
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    const textOf = (name: keyof typeof printed) => Buffer.concat(printed[name]).subarray(0, mostBytes).toString("utf8");
    resolve({
      ...(over ?? { how: "killed" }),
      ...(ours && { how: ours }),
      stdout: textOf("stdout"),
      stderr: textOf("stderr"),
    });
  }

  function endAll(how: ProgramEnd["how"]): void {
    if (over) return;
    ours ??= how;
    killGroup(child.pid);
    // One that hangs in the kernel outlives even that, and whoever waits should not.
    timers.push(clock.timer(processEndMs, settle));
  }

  const cancel = () => endAll("cancelled");

  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      bytes[name] += chunk.length;
      if (bytes[name] > mostBytes) endAll("flooded");
      else printed[name].push(chunk);
    });
    child[name].on("error", () => undefined);
  }
  child.once("error", (error) => {
    over = { how: "not started", reason: reasonOf(error) };
    settle();
  });
  child.once("exit", (code, signalName) => {
    over = code === null ? { how: "killed", reason: String(signalName) } : { how: "exited", code };
    killGroup(child.pid);
    // What left the group may hold the pipes open; what the program itself printed is there by then.
    timers.push(clock.timer(processEndMs, settle));
  });
  child.once("close", settle);
  timers.push(clock.timer(limitMs, () => endAll("late")));
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  return promise;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (thrown) {
    // ESRCH: nobody is left, as it should be. EPERM: somebody is, and is not ours to end.
    if (!["ESRCH", "EPERM"].includes(systemCodeOf(thrown) ?? "")) throw thrown;
  }
}
