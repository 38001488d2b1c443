/** Settings from environment variables: AP_<NAME>, then AKASH_<NAME>, as existing providers have them. */

import { isFamiliar, isOfTheNode, isServiceLink, whyIneffective } from "./foreign-variables.ts";
import { nearest } from "./nearest.ts";
import { type Findings, type Given, givenAt, type ReadFile, readFileAt } from "./problem.ts";
import { settingsByFlag, variableOf } from "./table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** In the order in which they are looked up. */
const prefixes = ["AP_", "AKASH_"] as const;

/** A variable that the charts set by a wrong name; they mean this setting. */
const misnomers: ReadonlyMap<string, string> = new Map([["GATEWAY_IMPLEMENTATION", "gateway-provider"]]);

/** Set by the chart without a prefix, so it has never had an effect. */
const unprefixed = "DEPLOYMENT_NETWORK_POLICIES_ENABLED";

/** Every variable that can hold a setting, the stronger ones of a setting first. */
const variables: ReadonlyMap<string, { readonly flag: string; readonly isFile: boolean }> = new Map(
  [...settingsByFlag.values()].flatMap((setting) => {
    const names = prefixes.map((prefix) => `${prefix}${variableOf(setting.flag)}`);
    const isSecret = setting.type === "live" && setting.format.isSecret;
    const candidates = isSecret ? names.flatMap((name) => [name, `${name}_FILE`]) : names;
    if (setting.type === "live" && setting.alsoVariable) candidates.push(setting.alsoVariable);
    return candidates.map((name) => [name, { flag: setting.flag, isFile: !names.includes(name) && isSecret === true }]);
  }),
);

/** Those that hold a secret themselves, rather than the path of a file that does. */
export const secretVariables: readonly string[] = [...settingsByFlag.values()]
  .filter((setting) => setting.type === "live" && setting.format.isSecret)
  .flatMap(({ flag }) => prefixes.map((prefix) => `${prefix}${variableOf(flag)}`));

/** What the environment gives, by flag. A secret may be in a file, as Kubernetes and Docker hand them out. */
export function readEnvironment(
  environment: Environment,
  isUsed: (flag: string) => boolean,
  readFile: ReadFile,
  findings: Findings,
): Map<string, Given> {
  const set = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    if (value && !isServiceLink(name, value)) set.set(name, value);
  }
  const given = new Map<string, Given>();
  for (const [variable, { flag, isFile }] of variables) {
    const value = set.get(variable);
    if (value === undefined || given.has(flag) || !isUsed(flag)) continue;
    const source = `environment ${variable}`;
    const text = isFile ? readFileAt(source, value, readFile, findings)?.replace(/\r?\n$/, "") : value;
    if (text !== undefined) given.set(flag, givenAt(source, flag, text));
  }
  for (const [variable, value] of set) judge(variable, value, given, findings);
  return given;
}

/** What to make of a variable that is no setting. */
function judge(variable: string, value: string, given: Map<string, Given>, { warnings }: Findings): void {
  if (variable === unprefixed && !given.has("deployment-network-policies-enabled")) {
    const right = `AP_${unprefixed}=${value}`;
    warnings.push(`${unprefixed} has no effect, since it lacks the prefix; write ${right} if you mean it.`);
  }
  const prefix = prefixes.find((each) => variable.startsWith(each));
  if (prefix === undefined || variables.has(variable)) return;
  const name = variable.slice(prefix.length);
  const meant = misnomers.get(name);
  if (meant !== undefined) {
    if (!given.has(meant)) given.set(meant, givenAt(`environment ${variable}`, meant, value));
    warnings.push(`${variable} is the wrong name for ${prefix}${variableOf(meant)}; it was taken for that.`);
    return;
  }
  const why = whyIneffective(name);
  if (why !== undefined) {
    warnings.push(`${variable} has no effect: ${why}.`);
  } else if (!isFamiliar(prefix, name) && !isOfTheNode(name)) {
    const names = [...variables.keys()].filter((each) => each.startsWith(prefix));
    const similar = nearest(variable, names);
    const hint = similar === undefined ? "" : ` Did you mean ${similar}?`;
    warnings.push(`${variable} has no effect: it is not a setting of this program.${hint}`);
  }
}
