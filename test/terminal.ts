/** A terminal as a person sits at one: what is typed goes to a program that has a real pty. By `script`, which every Debian has. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";

export interface Terminal {
  /** Everything that was on the screen so far. */
  readonly said: string;
  type(keys: string): void;
  /** Resolves when something like this is on the screen that was not there before the last such wait. */
  shows(pattern: RegExp): Promise<void>;
  resize(size: { readonly columns: number; readonly rows: number }): Promise<void>;
  /** The exit code of the program. */
  ended(): Promise<number | null>;
}

/** With 99 columns and 33 rows. After the program it says how the terminal was left: "icanon", or "-icanon" where keys still come raw. */
export async function openTerminal(owner: Owner, command: string, env: Record<string, string>): Promise<Terminal> {
  const device = join(temporaryFolder(owner), "tty");
  const script = `stty rows 33 cols 99; tty > ${device}; ${command}; code=$?; stty -a | grep -o -- '-\\?icanon'; exit $code`;
  const child = spawn("script", ["-qec", script, "/dev/null"], {
    ...{ stdio: ["pipe", "pipe", "pipe"], cwd: join(import.meta.dirname, "..") },
    env: { PATH: process.env["PATH"] ?? "", SHELL: "/bin/sh", TERM: "xterm", ...env },
  });
  let said = "";
  let read = 0;
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
  await eventually("a terminal", () => existsSync(device) && readFileSync(device, "utf8").endsWith("\n"));
  return {
    get said() {
      return said;
    },
    type: (keys) => void child.stdin.write(keys),
    async shows(pattern) {
      const found = await eventually(
        `the terminal shows ${pattern}`,
        () => pattern.exec(said.slice(read)) ?? undefined,
      ).catch((error) => {
        throw new Error(`${String(error)}; it said:\n${said}`);
      });
      read += found.index + found[0].length;
    },
    async resize({ columns, rows }) {
      const tty = readFileSync(device, "utf8").trim();
      await promisify(execFile)("stty", ["-F", tty, "cols", `${columns}`, "rows", `${rows}`]);
    },
    async ended() {
      await closed;
      return child.exitCode;
    },
  };
}
