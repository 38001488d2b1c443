/** The table of settings as options of a commander command, and back to what was given. */
import { Command, InvalidArgumentError, Option } from "commander";
import { BadValue, type TextFormat } from "./formats/format.ts";
import type { Flags } from "./load.ts";
import type { LiveSetting, Program, Setting } from "./setting.ts";
import { groups, variableOf } from "./table.ts";

/** The options that stand for settings, among all that a command has. */
const settingOptions = new WeakSet<Option>();

/** A command from a usage like "send-manifest <sdl>", with options of its own and the settings of a program. */
export function settingsCommand(
  program: Program | "all",
  usage: string,
  description: string,
  options: readonly Option[] = [],
): Command {
  const [name, ...args] = usage.split(" ");
  const command = new Command(name).description(description);
  for (const arg of args) command.argument(arg);
  for (const option of options) command.addOption(option);
  return addSettingOptions(command, program);
}

/** Reads the value of an option as a setting's. */
export function argumentOf<T>(format: Pick<TextFormat<T>, "read" | "expects">): (text: string) => T {
  return (text) => {
    const value = format.read(text);
    if (value instanceof BadValue) throw new InvalidArgumentError(`It must be ${format.expects}.`);
    return value;
  };
}

/** Adds the settings of a program, or of all, to a command. An option that the command already has stays its own. */
export function addSettingOptions(command: Command, program: Program | "all"): Command {
  const add = (title: string, setting: Setting) => {
    const isOurs = program === "all" || setting.usedBy.includes(program);
    if (!isOurs || setting.flag === undefined || isTaken(command, setting.flag)) return;
    const option = optionOf(setting, setting.flag, command).helpGroup(`${title}:`);
    settingOptions.add(option);
    command.addOption(option);
  };
  for (const { title, settings, inert } of groups) {
    for (const setting of [...Object.values(settings), ...inert]) add(title, setting);
  }
  return command;
}

/** What the command line gave of the settings, for loadConfig. */
export function givenFlags(command: Command): Flags {
  const given = command.options.filter(
    (option) => settingOptions.has(option) && command.getOptionValueSource(option.attributeName()) === "cli",
  );
  return Object.fromEntries(
    given.map((option) => [option.long?.slice(2) ?? "", command.getOptionValue(option.attributeName())]),
  );
}

function optionOf(setting: Setting, flag: string, command: Command): Option {
  const short =
    setting.short && !command.options.some(({ short }) => short === `-${setting.short}`) ? `-${setting.short}, ` : "";
  const name = `${short}--${flag}`;
  // Dead settings and secrets are taken so that they can be answered, not so that anybody finds them.
  if (setting.type !== "live") return new Option(`${name} [value]`).hideHelp();
  if (setting.format.isSecret) return new Option(`${name} <value>`).hideHelp();
  const option = new Option(`${name} ${setting.format.placeholder}`, describe(setting, flag));
  return setting.format.isList ? option.argParser(collect) : option;
}

function describe({ doc, default: fallback }: LiveSetting<unknown>, flag: string): string {
  const value = typeof fallback === "object" ? fallback.says.replaceAll("`", "") : fallback;
  const facts = [`AP_${variableOf(flag)}`, value && `default ${value}`].filter(Boolean);
  return `${doc} (${facts.join(", ")})`;
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function isTaken(command: Command, flag: string): boolean {
  return command.options.some(({ long }) => long === `--${flag}`);
}
