/** Settings from provider.yaml. */
import { ProviderError } from "../runtime/errors.ts";
import { isSameName } from "./nearest.ts";
import { type Findings, type Given, unknownSetting } from "./problem.ts";
import { settingsByFlag, settingsByKey, variableOf } from "./table.ts";
import { readYamlMap } from "./yamlfile.ts";

/** The chart writes it for the chain's command line; but the owner of a provider is the account of its key. */
const ignoredKey = "owner";

/** What the file gives, by key. */
export function readProviderFile(path: string, text: string, { problems, warnings }: Findings): Map<string, Given> {
  const { entries, faults } = readYamlMap(path, text);
  problems.push(...faults);
  const given = new Map<string, Given>();
  for (const { name, raw, line, where, locate } of entries) {
    if (name === ignoredKey) {
      warnings.push(`${where}: owner has no effect: the provider's owner is the account of its key.`);
    } else if (!settingsByKey.has(name)) {
      problems.push(unknownKey(where, name));
    } else if (raw !== null) {
      // "host:" without a value is as good as no host.
      given.set(name, { raw, source: `${path}:${line}`, name, locate });
    }
  }
  return given;
}

/** Somebody who writes a flag's name into the file should hear where it belongs. */
function unknownKey(where: string, name: string): ProviderError {
  const setting = [...settingsByFlag.values()].find(({ flag }) => isSameName(flag, name));
  if (!setting || (setting.type === "live" && setting.key)) return unknownSetting(where, name, settingsByKey.keys());
  const hint = `It is not a setting of this file: give it as --${setting.flag} or AP_${variableOf(setting.flag)}.`;
  return new ProviderError("AKP_SETTING_UNKNOWN", { where, name, hint });
}
