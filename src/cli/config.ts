/** `akash-provider config`: what the settings are, and where they came from. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { loadConfig } from "../config/load.ts";
import { addSettingOptions, givenFlags } from "../config/options.ts";
import { printConfig, printConfigAsJson } from "../config/print.ts";

export interface ConfigOutside {
  readonly env: NodeJS.ProcessEnv;
  write(text: string): void;
}

const realOutside: ConfigOutside = {
  env: process.env,
  write: (text) => {
    process.stdout.write(text);
  },
};

export function configCommand({ env, write }: ConfigOutside = realOutside): Command {
  const print = new Command("print")
    .description("show every setting, its value and where that came from")
    .addOption(new Option("-o, --output <format>", "what to print").choices(["text", "json"]).default("text"))
    .action((options: { output: "text" | "json" }, command: Command) => {
      const loaded = loadConfig({ flags: givenFlags(command), env, readFile: (path) => readFileSync(path, "utf8") });
      write(options.output === "json" ? printConfigAsJson(loaded) : printConfig(loaded));
    });
  addSettingOptions(print, "all");
  return new Command("config").description("look at the settings").addCommand(print);
}
