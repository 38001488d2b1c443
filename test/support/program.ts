/** Starts akash-provider as its users do: a process of its own, whose output and exit code are all one knows of it. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";

export interface Program {
  /** Everything it has said so far, on both channels. */
  readonly said: string;
  /** Resolves when it has said something like this. */
  says(pattern: RegExp, limitMs?: number): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Closes the other end of its standard output, as `head` does when it has seen enough. */
  stopReading(): void;
  /** Its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals | null>;
}

const main = join(import.meta.dirname, "../..", "src", "cli", "main.ts");

/** The surroundings of a bare machine: no setting leaks in from whoever runs the tests. */
const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
// But for what the runner keeps of files stripped and compiled: without it that is most of the work of a start.
export const bareEnvironment = { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent" };

/** For programs whose next step is far away by the real clock. */
export const fastClock = { NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "fast-clock.ts"))}` };

export function startProgram(owner: Owner, args: readonly string[], env: Record<string, string> = {}): Program {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...bareEnvironment, ...env },
  });
  const heard = hear(owner, child);
  return {
    get said() {
      return heard.said;
    },
    async says(pattern, limitMs) {
      await heard.until(`the program says ${pattern}`, () => pattern.test(heard.said), limitMs);
    },
    signal: (name) => void child.kill(name),
    stopReading: () => void child.stdout.destroy(),
    async ended() {
      await heard.closed;
      return child.exitCode ?? child.signalCode;
    },
  };
}

/** What a process says on both channels. It ends with its owner. */
export function hear(owner: Owner, child: ChildProcessByStdio<Writable | null, Readable, Readable>) {
  let said = "";
  for (const channel of [child.stdout, child.stderr]) {
    channel.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const closed = once(child, "close");
  owner.after(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  return {
    closed,
    get said() {
      return said;
    },
    until: <T>(what: string, isSo: () => T | undefined, limitMs?: number) =>
      eventually(what, isSo, limitMs).catch((error) => {
        throw new Error(`${String(error)}; it said:\n${said}`);
      }),
  };
}

/** A provider with a key, whose chain cannot be reached: it waits for that, and all else is there. */
export function startProvider(owner: Owner, args: readonly string[], env: Record<string, string> = {}): Program {
  const keyFile = join(temporaryFolder(owner), "provider.key");
  writeFileSync(keyFile, `${"11".repeat(32)}\n`, { mode: 0o600 });
  return startProgram(owner, ["run", "--key-file", keyFile, "--node", "http://127.0.0.1:1", ...args], env);
}
