/** From what was given to values: each setting read by its own schema, then held against the rules between them. */
import type { z } from "zod";
import type { ProviderError } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Format } from "./formats/format.ts";
import { type Findings, type Given, invalidSetting, quote, unknownSetting } from "./problem.ts";
import { type Rule, remarks, rules, somePriceIsSet } from "./rules.ts";
import type { LiveSetting, Surroundings } from "./setting.ts";
import { type Config, liveSettings, type SettingName, settingOf } from "./table.ts";

export interface Resolved {
  readonly values: Config;
  /** Where each value came from: "flag --bid-timeout", "environment AKASH_BID_TIMEOUT", "provider.yaml:12", "default". */
  readonly sources: Readonly<Record<SettingName, string>>;
}

type GivenFor = (setting: LiveSetting<unknown>) => Given | undefined;

interface Uses {
  /** A setting that is not used has no value, and no rule is applied to it. */
  isUsed(setting: LiveSetting<unknown>): boolean;
  /** Whether an invalid value is replaced by the default, with a warning. */
  mayDefault(setting: LiveSetting<unknown>): boolean;
}

export function resolve(
  givenFor: GivenFor,
  { isUsed, mayDefault }: Uses,
  userHome: string,
  findings: Findings,
): Resolved {
  const values = new Map<SettingName, unknown>();
  const sources = new Map<SettingName, string>();
  const wrong = new Set<SettingName>();
  const surroundings: Surroundings = {
    userHome,
    // --home is the first setting of the table, so it is there when another one's default asks for it.
    get home() {
      return String(values.get("home"));
    },
    isGiven: (flag) =>
      liveSettings.some(([, setting]) => setting.flag === flag && (givenFor(setting)?.raw ?? "") !== ""),
  };
  for (const [name, setting] of liveSettings) {
    if (!isUsed(setting)) {
      wrong.add(name);
      continue;
    }
    let given = givenFor(setting);
    let reading = given && readGiven(setting, given, userHome);
    if (reading && reading.problems.length > 0 && mayDefault(setting)) {
      findings.warnings.push(...reading.problems.map(({ message }) => `${message}; the default is used`));
      given = reading = undefined;
    }
    const { value, problems } = reading ?? readDefault(setting, surroundings);
    values.set(name, value);
    sources.set(name, given?.source ?? "default");
    if (problems.length > 0) wrong.add(name);
    findings.problems.push(...problems);
  }
  // Every name of the table now has what its own schema made of it; only the compiler cannot see that.
  const resolved = { values: Object.fromEntries(values), sources: Object.fromEntries(sources) } as unknown as Resolved;
  applyRules(resolved, wrong, findings);
  return resolved;
}

type Reading = { readonly value: unknown; readonly problems: readonly ProviderError[] };

function readDefault(setting: LiveSetting<unknown>, surroundings: Surroundings): Reading {
  const { default: fallback, flag, key, format } = setting;
  if (fallback === undefined) return { value: undefined, problems: [] };
  const raw = typeof fallback === "string" ? fallback : fallback.of(surroundings);
  const { success, data } = format.schema.safeParse(raw);
  invariant(success, "the default of a setting is a value of its format", { setting: flag ?? key, raw });
  return { value: data, problems: [] };
}

function readGiven(setting: LiveSetting<unknown>, given: Given, userHome: string): Reading {
  const { format } = setting;
  // An empty flag takes back what environment or file say; an empty file for a secret is a mistake.
  if (given.raw === "" && setting.default === undefined && !format.isSecret) return { value: undefined, problems: [] };
  const raw = format.isPath && typeof given.raw === "string" ? expandPaths(given.raw, format, userHome) : given.raw;
  const { success, data, error } = format.schema.safeParse(raw);
  if (success) return { value: data, problems: [] };
  return { value: undefined, problems: error.issues.flatMap((issue) => problemsOf(issue, setting, given)) };
}

function problemsOf(issue: z.core.$ZodIssue, { format }: LiveSetting<unknown>, given: Given): ProviderError[] {
  const { path, message } = issue;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownSetting(given.locate([...path, key, ""]), key, format.fields ?? []));
  }
  const hint: unknown = issue.code === "custom" ? issue.params?.["hint"] : undefined;
  const inside = path.filter((part) => typeof part === "string");
  return [
    invalidSetting(given.locate(path), {
      name: [...inside.reverse(), given.name].join(" of "),
      value: format.isSecret || format.isHidden ? "that (hidden)" : quote(partOf(given.raw, path)),
      reason: message,
      hint: typeof hint === "string" ? hint : `Write ${format.expects}.`,
    }),
  ];
}

function partOf(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((part, name) => (part instanceof Object ? Reflect.get(part, name) : undefined), raw);
}

function applyRules(resolved: Resolved, wrong: ReadonlySet<SettingName>, findings: Findings): void {
  for (const rule of rules) {
    // A rule that looks at a setting which is itself wrong would only add to the confusion.
    if ([rule.blames, ...rule.reads].some((name) => wrong.has(name))) continue;
    const problem = problemOfRule(rule, resolved);
    if (problem) findings.problems.push(problem);
  }
  if (wrong.size > 0) return;
  findings.warnings.push(...remarks.map((remark) => remark(resolved.values)).filter((text) => text !== false));
}

function problemOfRule(rule: Rule, { values, sources }: Resolved): ProviderError | undefined {
  const { blames, hint } = rule;
  if (!rule.isBroken(values, (name) => sources[name] !== "default")) return undefined;
  const { flag, key, format } = settingOf(blames);
  const value = quote(format.show(values[blames] ?? ""));
  return invalidSetting(sources[blames], { name: flag ?? key ?? blames, value, reason: rule.reason(values), hint });
}

/** Throws if the provider would bid nothing for everything. Whoever is about to bid asks this. */
export function checkPricing(resolved: Resolved): void {
  const problem = problemOfRule(somePriceIsSet, resolved);
  if (problem) throw problem;
}

function expandPaths(text: string, { isList }: Format<unknown>, userHome: string): string {
  if (!isList) return expandHome(text, userHome);
  return text
    .split(",")
    .map((path) => expandHome(path.trim(), userHome))
    .join(",");
}

/** In paths, "~" and $HOME stand for the user's home directory, also where no shell has replaced them. */
export function expandHome(path: string, userHome: string): string {
  return path.replace(/^~(?=\/|$)/, () => userHome).replace(/\$(?:HOME\b|\{HOME\})/g, () => userHome);
}
