/** Starts child.ts and listens to what it says. It ends with the test at the latest. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventually } from "../support/eventually.ts";

export interface JournalProcess {
  readonly pid: number;
  /** The first line it says. */
  firstLine(): Promise<string>;
  /** Ends its input, which makes a holder close the journal and exit. */
  letGo(): void;
  kill(): void;
  /** Everything it said, and the signal that ended it, if one did. */
  ended(): Promise<{ lines: string[]; signal: NodeJS.Signals | null }>;
}

export function startJournalProcess(t: Pick<TestContext, "after">, ...args: string[]): JournalProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "child.ts"), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const closed = once(child, "close");
  const kill = () => child.kill("SIGKILL");
  t.after(async () => {
    kill();
    await closed;
  });
  const lines = () => said.split("\n").slice(0, -1);
  return {
    pid: child.pid ?? 0,
    firstLine: () => eventually("the child says something", () => lines()[0]),
    letGo: () => child.stdin.end(),
    kill,
    async ended() {
      await closed;
      return { lines: lines(), signal: child.signalCode };
    },
  };
}
