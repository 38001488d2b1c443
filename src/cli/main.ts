/** The program `akash-provider`: finds the command, runs it, and says plainly what went wrong if it does. */
import { CommanderError } from "commander";
import { exitCodeOfUsage, programFor, throwOnWrongUsage } from "./commands.ts";
import { endWith } from "./fail.ts";

// In `akash-provider events | head` the reader leaves first. That is a reason to stop, like closing the terminal.
process.stdout.once("error", () => process.kill(process.pid, "SIGHUP")).on("error", () => undefined);

async function fail(thrown: unknown): Promise<never> {
  const { wantsTrace } = await import("./trace.ts");
  endWith(thrown, wantsTrace(process.argv.slice(2), process.env));
}

// A fault that no service caught, rejections included. Nothing is lost by ending here: the journal has it all.
process.on("uncaughtException", (thrown) => void fail(thrown));

try {
  const [, , name = ""] = process.argv;
  await throwOnWrongUsage(await programFor(name)).parseAsync();
} catch (thrown) {
  if (!(thrown instanceof CommanderError)) await fail(thrown);
  else process.exitCode = exitCodeOfUsage(thrown);
}
