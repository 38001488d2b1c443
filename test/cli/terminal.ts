/** A terminal as a person sits at one: what is typed goes to a program that has a real pty. By `script`, which every Debian has. */
import { execFile, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { hear } from "../support/program.ts";

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
  const script = `stty rows 33 cols 99; tty > '${device}'; ${command}; code=$?; stty -a | grep -o -- '-\\?icanon'; exit $code`;
  const child = spawn("script", ["-qec", script, "/dev/null"], {
    ...{ stdio: ["pipe", "pipe", "pipe"], cwd: join(import.meta.dirname, "../..") },
    env: { PATH: process.env["PATH"] ?? "", SHELL: "/bin/sh", TERM: "xterm", ...env },
  });
  const heard = hear(owner, child);
  let read = 0;
  await eventually("a terminal", () => existsSync(device) && readFileSync(device, "utf8").endsWith("\n"));
  return {
    get said() {
      return heard.said;
    },
    type: (keys) => void child.stdin.write(keys),
    async shows(pattern) {
      const isShown = () => pattern.exec(heard.said.slice(read)) ?? undefined;
      const found = await heard.until(`the terminal shows ${pattern}`, isShown);
      read += found.index + found[0].length;
    },
    async resize({ columns, rows }) {
      const tty = readFileSync(device, "utf8").trim();
      await promisify(execFile)("stty", ["-F", tty, "cols", `${columns}`, "rows", `${rows}`]);
    },
    async ended() {
      await heard.closed;
      return child.exitCode;
    },
  };
}
