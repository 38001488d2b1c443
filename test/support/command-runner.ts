/**
 * Gives commands to one process of the program, one after the other: starting it is most of what a command costs. Signals, pipes
 * and the end of a process are for `program.ts`.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Owner } from "./owner.ts";
import { bareEnvironment } from "./program.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type RunCommand = (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<CommandResult>;

/** Begins with the first command. */
export function createCommandRunner(owner: Owner): RunCommand {
  let child: ReturnType<typeof start> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start() {
    const stdio = ["pipe", "pipe", "inherit"] as const;
    const path = join(import.meta.dirname, "command-runner-child.ts");
    const process_ = spawn(process.execPath, [path], { stdio: [...stdio], env: bareEnvironment });
    const answers = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
    owner.after(() => void process_.stdin.end());
    return { stdin: process_.stdin, answers };
  }

  async function give(args: readonly string[], env: Readonly<Record<string, string>>): Promise<CommandResult> {
    child ??= start();
    child.stdin.write(`${JSON.stringify({ args, env })}\n`);
    const { value, done } = await child.answers.next();
    if (done) throw new Error(`the process has ended at ${args.join(" ")}`);
    return JSON.parse(value) as CommandResult;
  }

  return (args, env = {}) => {
    const given = last.then(() => give(args, env));
    last = given.catch(() => undefined);
    return given;
  };
}
