/** What the commands share that ask the running provider: where it is, and how they tell what it says. */
import { Command, InvalidArgumentError } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { HeldCondition } from "../conditions/held-conditions.ts";
import { addSettingOptions } from "../config/options.ts";
import type { Config } from "../config/table.ts";
import { openToRead } from "../journal/read-only.ts";
import type { TableReads } from "../journal/tables.ts";
import { printable, printableJson } from "../market/printable.ts";
import { realClock } from "../runtime/clock.ts";
import { ask, askOn } from "../runtime/control/control-client.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { jsonText } from "../runtime/json-text.ts";
import type { Question } from "../runtime/lifecycle.ts";
import { aligned } from "./answer-text.ts";
import { showAge } from "./order-text.ts";
import { takeSettings } from "./settings.ts";

export interface Asker {
  readonly settings: Pick<Config, "dataDir" | "policyFile">;
  ask<T>(about: string, question?: Question): Promise<JsonOf<T>>;
  askOn<T>(about: string, question: Question, signal: AbortSignal): AsyncGenerator<JsonOf<T>>;
  /** Asks the provider or, where none can answer, its journal: which of the two does not show in the answer. */
  askOrRead<T>(about: string, question: Question, fromJournal: (read: TableReads) => T): Promise<JsonOf<T>>;
  readJournal<T>(work: (read: TableReads) => T): JsonOf<T>;
}

export interface OutputOptions {
  readonly json: boolean;
}

/** A command with the settings that say where the provider is. */
export function askingCommand(usage: string, description: string): Command {
  const [name = "", ...args] = usage.split(" ");
  const command = new Command(name).description(description);
  for (const argument of args) command.argument(argument);
  command.option("--json", "print JSON, one value a line", false);
  return addSettingOptions(command, "ask");
}

/** Nobody is there, is there already, or knows of it: the journal may. */
const unanswered = ["AKP_PROVIDER_NOT_RUNNING", "AKP_NOT_RUNNING_YET", "AKP_QUESTION_UNKNOWN"] as const;

export function openAsker(command: Command): Asker {
  const { values, warnings } = takeSettings(command, "ask");
  const { dataDir } = values;
  for (const warning of warnings) complain(`warning: ${warning}`);
  const asking = (about: string, question: Question) => ({ dataDir, about, question, clock: realClock });

  /** What arrives over the socket is JSON; what the journal says is put into the same shape. */
  function readJournal<T>(work: (read: TableReads) => T): JsonOf<T> {
    const { atOnce, close } = openToRead(dataDir, realClock);
    try {
      return JSON.parse(jsonText(atOnce(work))) as JsonOf<T>;
    } finally {
      close();
    }
  }

  return {
    settings: values,
    ask: async <T>(about: string, question: Question = {}) => (await ask(asking(about, question))) as JsonOf<T>,
    askOn: <T>(about: string, question: Question, signal: AbortSignal) =>
      askOn({ ...asking(about, question), signal }) as AsyncGenerator<JsonOf<T>>,
    async askOrRead<T>(about: string, question: Question, fromJournal: (read: TableReads) => T) {
      try {
        return (await ask(asking(about, question))) as JsonOf<T>;
      } catch (thrown) {
        if (!unanswered.some((code) => ProviderError.is(thrown, code))) throw thrown;
        const answer = readJournal(fromJournal);
        complain(`${reasonOf(thrown)}; this is from its journal`);
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
export function complain(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

export function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  };
}

/** `akash-provider conditions`: what an operator should know now. */
export function conditionsCommand(): Command {
  const command = askingCommand("conditions", "show what an operator should know: what is wrong, and since when");
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const held = await openAsker(given).ask<readonly HeldCondition[]>("conditions");
    if (json) return held.forEach(printJson);
    if (held.length === 0) return complain("nothing is wrong");
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
