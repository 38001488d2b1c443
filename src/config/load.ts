/** Puts the settings together: flag before environment before provider.yaml before default. */

import { readFileSync } from "node:fs";
import type { Clock } from "../runtime/clock.ts";
import { followFile } from "../runtime/followed-file.ts";
import type { Log } from "../runtime/log.ts";
import { type Environment, readEnvironment } from "./environment.ts";
import { BadValue } from "./formats/format.ts";
import { onOff } from "./formats/plain.ts";
import {
  type Findings,
  type Given,
  givenAt,
  invalidSetting,
  quote,
  type ReadFile,
  readFileAt,
  throwProblems,
  unknownSetting,
} from "./problem.ts";
import { readProviderFile } from "./provider-file.ts";
import { expandHome, type Resolved, resolve } from "./resolve.ts";
import type { LiveSetting, Program, Setting } from "./setting.ts";
import { type Config, liveSettings, settingsByFlag, variableOf } from "./table.ts";

/** What the command line gave, by flag: a text, several texts, or true for a flag without a value. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

interface Inputs {
  readonly flags: Flags;
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** Only this program's settings get values. With "ask" only the data directory must be right: diagnostics work with wrong settings. */
  readonly program?: Program | undefined;
}

export interface LoadedConfig extends Resolved {
  /** What a person should know although nothing is wrong, each in a sentence. */
  readonly warnings: readonly string[];
}

/** Throws everything that is wrong at once. */
export function loadConfig({ flags, env, readFile, program }: Inputs): LoadedConfig {
  const findings: Findings = { problems: [], warnings: [] };
  const isUsed = ({ usedBy }: Setting) => program === undefined || usedBy.includes(program);
  const byFlag = new Map([...readEnvironment(env, isUsed, readFile, findings), ...readFlags(flags, isUsed, findings)]);
  const userHome = env["HOME"] ?? "";
  const byKey = readFileOf(byFlag.get("provider-config"), userHome, readFile, findings);
  judgeInert(byFlag, findings);
  const givenFor = ({ flag = "", key = "" }: LiveSetting<unknown>) => byFlag.get(flag) ?? byKey.get(key);
  const mayDefault = ({ flag }: LiveSetting<unknown>) => program === "ask" && flag !== "data-dir";
  const resolved = resolve(givenFor, { isUsed, mayDefault }, userHome, findings);
  throwProblems(findings.problems);
  return { ...resolved, warnings: findings.warnings };
}

function readFlags(flags: Flags, isUsed: (setting: Setting) => boolean, { problems }: Findings): Map<string, Given> {
  const given = new Map<string, Given>();
  for (const [flag, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    const setting = settingsByFlag.get(flag);
    if (!setting) {
      const right = [...settingsByFlag.keys()].map((name) => `--${name}`);
      problems.push(unknownSetting("command line", `--${flag}`, right));
    } else if (setting.type === "live" && setting.format.isSecret) {
      const reason = "every user of this machine can read a command line";
      const variable = `AP_${variableOf(flag)}`;
      const hint = `Set ${variable}, or ${variable}_FILE to the path of a file that holds it.`;
      problems.push(invalidSetting(`flag --${flag}`, { name: flag, value: "given as a flag", reason, hint }));
    } else if (isUsed(setting)) {
      given.set(flag, givenAt(`flag --${flag}`, flag, Array.isArray(value) ? value.join(",") : String(value)));
    }
  }
  return given;
}

function readFileOf(
  given: Given | undefined,
  userHome: string,
  readFile: ReadFile,
  findings: Findings,
): ReadonlyMap<string, Given> {
  // An empty flag says that no file is to be read, whatever the environment says.
  if (!given?.raw) return new Map();
  const path = expandHome(String(given.raw), userHome);
  const text = readFileAt(given.source, path, readFile, findings);
  return text === undefined ? new Map() : readProviderFile(path, text, findings);
}

/** Settings of the Go provider that do nothing here: the dead are told, and what would mislead is rejected. */
function judgeInert(byFlag: ReadonlyMap<string, Given>, { problems, warnings }: Findings): void {
  for (const [flag, { raw, source, name }] of byFlag) {
    const setting = settingsByFlag.get(flag);
    if (setting?.type === "dead" && !isSame(raw, setting.harmless)) {
      warnings.push(`${source} has no effect: ${setting.why}.`);
    }
    if (setting?.type === "fixed" && !isSame(raw, setting.only)) {
      const hint = `Leave --${flag} out, or write ${setting.only}.`;
      problems.push(invalidSetting(source, { name, value: quote(raw), reason: setting.why, hint }));
    }
  }
}

/** All the ways to write true, or false, are the same. */
function isSame(raw: unknown, expected: string | undefined): boolean {
  const value = onOff.read(String(raw));
  return raw === expected || (!(value instanceof BadValue) && value === onOff.read(String(expected)));
}

/** Every setting, its value and where that came from. Secrets are only said to be set. */
export function printConfig(loaded: LoadedConfig): string {
  const shown = (value: string | undefined) => (value === "" ? "(none)" : (value ?? "(not set)"));
  const rows = rowsOf(loaded).map(({ setting, value, source }) => [setting, shown(value), source]);
  const lines = align([["SETTING", "VALUE", "SOURCE"], ...rows]);
  const warnings = loaded.warnings.map((warning) => `warning: ${warning}`);
  return [...lines, ...(warnings.length > 0 ? ["", ...warnings] : []), ""].join("\n");
}

export function printConfigAsJson(loaded: LoadedConfig): string {
  const settings = rowsOf(loaded).map(({ setting, value = null, source }) => [setting, { value, source }]);
  return `${JSON.stringify({ settings: Object.fromEntries(settings), warnings: loaded.warnings }, null, 2)}\n`;
}

/** Each value as a person would write it; undefined where it is not set. */
function rowsOf({ values, sources }: LoadedConfig) {
  return liveSettings.map(([name, { flag, key, format }]) => {
    const value = values[name];
    const shown = value === undefined ? undefined : format.show(value);
    return { setting: flag ?? key ?? name, value: shown, source: sources[name] };
  });
}

/** A few long values must not push the sources of all the others off the screen. */
const widestColumn = 60;

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((column) =>
    Math.min(widestColumn, Math.max(...rows.map((row) => row[column]?.length ?? 0))),
  );
  const pad = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd());
}

/** The settings with provider.yaml as it is now, for what may change while we run: prices. The last good ones are kept. */
export interface FollowedSettings {
  readonly current: Config;
  /** The file that `current` was read from; undefined while its content is invalid since the start. */
  readonly lastGood: { readonly path: string; readonly text: string } | undefined;
  readonly trouble: string | undefined;
  onChange(listener: () => void): void;
  close(): void;
}

/** Loads them as they were loaded first, whenever the file changes. What `load` throws leaves the last good ones in force. */
export function followSettings(
  first: LoadedConfig,
  load: (readFile: ReadFile) => LoadedConfig,
  { clock, log }: { clock: Clock; log: Log },
): FollowedSettings {
  const { providerConfig: path } = first.values;
  if (path === undefined) {
    const none = { lastGood: undefined, trouble: undefined };
    return { current: first.values, ...none, onChange: () => undefined, close: () => undefined };
  }
  const read = (text: string) => {
    const loaded = load((each) => (each === path ? text : readFileSync(each, "utf8")));
    return { values: loaded.values, text };
  };
  const file = followFile({ path, read, what: "settings file" }, { clock, log: log.with({ module: "config" }) });
  return {
    get current() {
      return file.current?.values ?? first.values;
    },
    get lastGood() {
      return file.current && { path, text: file.current.text };
    },
    get trouble() {
      return file.trouble && `${file.trouble}; the last good content stays in force`;
    },
    onChange: file.onChange,
    close: file.close,
  };
}
