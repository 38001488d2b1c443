/** What every program that runs for long does first: reads its settings and opens its log. */
import type { Command } from "commander";
import { createLog, type Log } from "../runtime/log.ts";
import { type TakenSettings, takeSettings } from "./take-settings.ts";

export interface Prepared extends Pick<TakenSettings, "values" | "sources" | "redactor"> {
  readonly log: Log;
}

export function prepare(command: Command): Prepared {
  const { values, sources, redactor, warnings } = takeSettings(command);
  const { logLevel: level, logFormat: format, logColor: color, logTimestamp: timestamp } = values;
  const log = createLog({ level, format, color, timestamp, redactor });
  for (const warning of warnings) log.info(warning, { module: "config" });
  return { values, sources, log, redactor };
}
