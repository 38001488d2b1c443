/** What every program that runs for long does first: reads its settings and opens its log. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { givenFlags } from "../config/options.ts";
import { createLog, type Log } from "../runtime/log.ts";
import { createRedactor, type Redactor } from "../runtime/redact.ts";

export interface Prepared extends Pick<LoadedConfig, "values" | "sources"> {
  readonly log: Log;
  readonly redactor: Redactor;
}

export function prepare(command: Command): Prepared {
  const { values, sources, warnings } = loadConfig({
    flags: givenFlags(command),
    env: process.env,
    readFile: (path) => readFileSync(path, "utf8"),
  });
  const redactor = createRedactor();
  for (const secret of [values.redisPassword, values.certIssuerHmac, values.keyPassphrase]) {
    if (secret !== undefined) redactor.register(secret);
  }
  const { logLevel: level, logFormat: format, logColor: color, logTimestamp: timestamp } = values;
  const log = createLog({ level, format, color, timestamp, redactor });
  for (const warning of warnings) log.info(warning, { module: "config" });
  return { values, sources, log, redactor };
}
