/** The settings that this process was given, by flags, environment and provider.yaml. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { secretVariables } from "../config/environment.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { givenFlags } from "../config/options.ts";

/** Secrets leave the environment as soon as they are read: every program that this one starts would inherit them. */
export function takeSettings(command: Command): LoadedConfig {
  const readFile = (path: string) => readFileSync(path, "utf8");
  const loaded = loadConfig({ flags: givenFlags(command), env: process.env, readFile });
  for (const name of secretVariables) delete process.env[name];
  return loaded;
}
