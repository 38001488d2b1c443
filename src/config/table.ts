/** Every setting there is. The type of the configuration, the flags, the variables and the docs come from here. */
import type { Intersection } from "../runtime/intersection.ts";
import { invariant } from "../runtime/invariant.ts";
import type { LiveSetting, Setting, SettingGroup } from "./setting.ts";
import { chainGroup, moneyGroup } from "./settings/chain.ts";
import { clusterGroup, publishedGroup } from "./settings/cluster.ts";
import { gatewayGroup } from "./settings/gateway.ts";
import { ingressGroup } from "./settings/ingress.ts";
import { operatorsGroup } from "./settings/operators.ts";
import { policiesGroup, pricingGroup } from "./settings/pricing.ts";
import { busGroup, processGroup } from "./settings/process.ts";

const allGroups = [
  processGroup,
  busGroup,
  chainGroup,
  moneyGroup,
  pricingGroup,
  policiesGroup,
  publishedGroup,
  clusterGroup,
  ingressGroup,
  gatewayGroup,
  operatorsGroup,
] as const;

export const groups: readonly SettingGroup[] = allGroups;

type Table = Intersection<(typeof allGroups)[number]["settings"]>;

/** The settings that do something, resolved. Times are in milliseconds, money is exact. */
export type Config = { readonly [Name in keyof Table]: Table[Name] extends LiveSetting<infer T> ? T : never };
export type SettingName = keyof Config;

export const liveSettings: readonly (readonly [SettingName, LiveSetting<unknown>])[] = groups.flatMap(({ settings }) =>
  Object.entries(settings).map(([name, setting]) => [name as SettingName, setting] as const),
);

const byName: ReadonlyMap<string, LiveSetting<unknown>> = new Map(liveSettings);

export function settingOf(name: SettingName): LiveSetting<unknown> {
  const setting = byName.get(name);
  invariant(setting, "every name of the configuration is one of the table", { name });
  return setting;
}

export type FlaggedSetting = Setting & { readonly flag: string };

/** Every setting that has a flag, inert ones too, by that flag. */
export const settingsByFlag: ReadonlyMap<string, FlaggedSetting> = new Map(
  groups
    .flatMap(({ settings, inert }) => [...Object.values(settings), ...inert])
    .filter((setting): setting is FlaggedSetting => setting.flag !== undefined)
    .map((setting) => [setting.flag, setting]),
);

/** The settings that can stand in provider.yaml, by their key there. */
export const settingsByKey: ReadonlyMap<string, LiveSetting<unknown>> = new Map(
  liveSettings.flatMap(([, setting]) => (setting.key === undefined ? [] : [[setting.key, setting]])),
);

/** "bid-timeout" is AP_BID_TIMEOUT and AKASH_BID_TIMEOUT; this is the part after the prefix. */
export function variableOf(flag: string): string {
  return flag.toUpperCase().replace(/[-.]/g, "_");
}
