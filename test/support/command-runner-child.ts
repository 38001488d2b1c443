/** Gives the commands that come as lines of JSON, one after the other, and answers each with a line of what came of it. */
import { createInterface } from "node:readline";
import { CommanderError } from "commander";
import { exitCodeOfUsage, programFor, throwOnWrongUsage } from "../../src/cli/commands.ts";
import { describeFailure } from "../../src/cli/fail.ts";

const answer = process.stdout.write.bind(process.stdout);
const said = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = (text: string | Uint8Array) => {
    said[name] += String(text);
    return true;
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { args, env } = JSON.parse(line) as { args: string[]; env: Record<string, string> };
  Object.assign(process.env, env);
  Object.assign(said, { stdout: "", stderr: "" });
  const code = await give(args);
  answer(`${JSON.stringify({ code, ...said })}\n`);
  for (const name of Object.keys(env)) delete process.env[name];
}

async function give(args: string[]): Promise<number> {
  try {
    process.exitCode = 0;
    await throwOnWrongUsage(await programFor(args[0] ?? "")).parseAsync(args, { from: "user" });
    return process.exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return exitCodeOfUsage(thrown);
    const { text, exitCode } = describeFailure(thrown);
    said.stderr += text;
    return exitCode;
  } finally {
    process.exitCode = 0;
  }
}
