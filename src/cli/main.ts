/** The program `akash-provider`: finds the command, runs it, and says plainly what went wrong if it does. */
import { readFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { Command, CommanderError } from "commander";
import { describeFailure } from "./fail.ts";
import { exitCodeOfUsage, throwOnWrongUsage } from "./usage.ts";

// Stripping types takes most of a start; what was stripped once is kept beside the packages where that can be written.
enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/akash-provider", import.meta.url)));

/** In the order of a person's first acquaintance. Loaded one by one: `demo` need not wait for what `tenant` needs. */
const commands: Record<string, () => Promise<Command>> = {
  demo: async () => (await import("./demo.ts")).demoCommand(),
  run: async () => (await import("./run.ts")).runCommand(),
  config: async () => (await import("./config.ts")).configCommand(),
  register: async () => (await import("./register.ts")).registerCommand(),
  chain: async () => (await import("./chain.ts")).chainCommand(),
  events: async () => (await import("./events.ts")).eventsCommand(),
  tenant: async () => (await import("./tenant.ts")).tenantCommand(),
};

const { version, description } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

const program = new Command("akash-provider")
  .description(description)
  .version(version)
  .addHelpText("after", "\nTry it without a chain or a cluster: akash-provider demo");

try {
  const chosen = commands[process.argv[2] ?? ""];
  for (const load of chosen ? [chosen] : Object.values(commands)) program.addCommand(await load());
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
