/** Shared by the commands that send control requests to the running provider: its client and the output. */
import type { Command } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { HeldCondition } from "../conditions/held-conditions.ts";
import { whole } from "../config/formats/plain.ts";
import { argumentOf, settingsCommand } from "../config/options.ts";
import { openToRead } from "../journal/read-only.ts";
import type { TableReads } from "../journal/tables.ts";
import { printable, printableJson } from "../market/printable.ts";
import { realClock } from "../runtime/clock.ts";
import { requestControl, streamControl } from "../runtime/control/control-client.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { jsonText } from "../runtime/json-text.ts";
import type { ControlParams } from "../runtime/lifecycle.ts";
import { aligned } from "./answer-text.ts";
import { showAge } from "./order-text.ts";
import { takeSettings } from "./settings.ts";

export type ControlClient = ReturnType<typeof openControlClient>;

export interface OutputOptions {
  readonly json: boolean;
}

/** A command with the settings that say where the provider is. */
export function controlCommand(usage: string, description: string): Command {
  return settingsCommand("ask", usage, description).option("--json", "print JSON, one value a line", false);
}

/** Errors after which the journal is read instead. */
const unavailable = ["AKP_PROVIDER_NOT_RUNNING", "AKP_NOT_RUNNING_YET", "AKP_QUESTION_UNKNOWN"] as const;

export function openControlClient(command: Command) {
  const { values, warnings } = takeSettings(command, "ask");
  const { dataDir } = values;
  for (const warning of warnings) printError(`warning: ${warning}`);
  const requestOf = (name: string, params: ControlParams = {}) => ({ dataDir, name, params, clock: realClock });

  /** In the shape in which the control socket responds. */
  function readJournal<T>(work: (read: TableReads) => T): JsonOf<T> {
    const { atOnce, close } = openToRead(dataDir, realClock);
    try {
      return JSON.parse(jsonText(atOnce(work))) as JsonOf<T>;
    } finally {
      close();
    }
  }

  return {
    settings: { policyFile: values.policyFile },
    request: async <T>(name: string, params: ControlParams = {}) =>
      (await requestControl(requestOf(name, params))) as JsonOf<T>,
    stream: <T>(name: string, params: ControlParams, signal: AbortSignal) =>
      streamControl({ ...requestOf(name, params), signal }) as AsyncGenerator<JsonOf<T>>,
    /** From the provider or, when it cannot respond, its journal, in the same shape. */
    async requestOrRead<T>(name: string, params: ControlParams, fromJournal: (read: TableReads) => T) {
      try {
        return (await requestControl(requestOf(name, params))) as JsonOf<T>;
      } catch (thrown) {
        if (!unavailable.some((code) => ProviderError.is(thrown, code))) throw thrown;
        const answer = readJournal(fromJournal);
        printError(`${reasonOf(thrown)}; this is from its journal`);
        return answer;
      }
    },
    readJournal,
  };
}

export function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
}

export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(jsonText(value))}\n`);
}

/** Beside the answer, where a pipe does not take it for one. */
export function printError(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

export const wholeNumber = (most: number) => argumentOf(whole(1, most));

/** `akash-provider conditions`: what an operator should know now. */
export function conditionsCommand(): Command {
  const command = controlCommand("conditions", "show what an operator should know: what is wrong, and since when");
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const held = await openControlClient(given).request<readonly HeldCondition[]>("conditions");
    if (json) return held.forEach(printJson);
    if (held.length === 0) return printError("nothing is wrong");
    print(conditionRows(held, realClock.now()));
  });
}

export function conditionRows(held: readonly JsonOf<HeldCondition>[], nowMs: number): string[] {
  const cells = held.map(({ type, status, reason, sinceMs, subject = "" }) => {
    return [type, status, reason, showAge(nowMs - sinceMs), subject];
  });
  const [head = "", ...rows] = aligned(["CONDITION", "STATUS", "REASON", "AGE", "SUBJECT"], cells);
  return [head, ...held.flatMap(({ message }, at) => [rows[at] ?? "", `  ${message}`])];
}
