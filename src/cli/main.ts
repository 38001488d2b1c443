/** The program `akash-provider`: finds the command, runs it, and says plainly what went wrong if it does. */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { exitCodeOfUsage, throwOnWrongUsage } from "../config/options.ts";
import { configCommand } from "./config.ts";
import { demoCommand } from "./demo.ts";
import { describeFailure } from "./fail.ts";
import { runCommand } from "./run.ts";

const { version, description } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

const program = new Command("akash-provider")
  .description(description)
  .version(version)
  .addCommand(runCommand())
  .addCommand(demoCommand())
  .addCommand(configCommand())
  .addHelpText("after", "\nTry it without a chain or a cluster: akash-provider demo");

try {
  await throwOnWrongUsage(program).parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) {
    process.exitCode = exitCodeOfUsage(thrown);
  } else {
    const { text, exitCode } = describeFailure(thrown, process.argv.includes("--trace"));
    process.stderr.write(text);
    process.exitCode = exitCode;
  }
}
