/** The settings that this process was given, by flags, environment and provider.yaml. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { secretVariables } from "../config/environment.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { givenFlags } from "../config/options.ts";
import { liveSettings } from "../config/table.ts";
import type { UsedConfig } from "../config/used-settings.ts";

export interface TakenSettings extends Omit<LoadedConfig, "values"> {
  readonly values: UsedConfig;
  /** To be registered with whatever prints. */
  readonly secrets: readonly string[];
}

/** Secrets leave the environment as soon as they are read: every program that this one starts would inherit them. */
export function takeSettings(command: Command): TakenSettings {
  const readFile = (path: string) => readFileSync(path, "utf8");
  const loaded = loadConfig({ flags: givenFlags(command), env: process.env, readFile });
  for (const name of secretVariables) delete process.env[name];
  const secrets = liveSettings
    .filter(([, { kind }]) => kind.isSecret)
    .flatMap(([name]) => (loaded.values[name] === undefined ? [] : [String(loaded.values[name])]));
  return { ...loaded, secrets };
}
