/** The settings that this process was given, by flags, environment and provider.yaml. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { secretVariables } from "../config/environment.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { givenFlags } from "../config/options.ts";
import { liveSettings } from "../config/table.ts";
import type { UsedConfig } from "../config/used-settings.ts";
import { createRedactor, type Redactor } from "../runtime/redact.ts";

export interface TakenSettings extends Omit<LoadedConfig, "values"> {
  readonly values: UsedConfig;
  /** For whatever prints: it knows every secret among them. */
  readonly redactor: Redactor;
}

/** Secrets leave the environment as soon as they are read: every program that this one starts would inherit them. */
export function takeSettings(command: Command): TakenSettings {
  const readFile = (path: string) => readFileSync(path, "utf8");
  const loaded = loadConfig({ flags: givenFlags(command), env: process.env, readFile });
  for (const name of secretVariables) delete process.env[name];
  const redactor = createRedactor();
  for (const [name, { format }] of liveSettings) {
    const value = loaded.values[name];
    if (format.isSecret && value !== undefined) redactor.register(String(value));
  }
  return { ...loaded, redactor };
}
