/** What one row of the table of settings says. Everything else is derived from the rows. */
import type { Format } from "./formats/format.ts";

/** The programs that this binary can be; each takes the settings that name it. */
export const programs = [
  "run",
  "client",
  "ask",
  "inventory",
  "hostname",
  "ip",
  "discovery",
  "install",
  "watch",
] as const;
export type Program = (typeof programs)[number];

/** The provider, and the commands that act on the chain from a shell. */
export const chainPrograms: readonly Program[] = ["run", "client"];

export const operators: readonly Program[] = ["inventory", "hostname", "ip"];

/** Those that publish on the bus, and are measured. */
export const busPrograms: readonly Program[] = ["run", ...operators];

/** Those that run until they are told to stop. */
export const services: readonly Program[] = ["run", ...operators, "discovery"];

/** Those that keep a log. */
export const logPrograms: readonly Program[] = [...services, "client"];

/** What a default may depend on. */
export interface Surroundings {
  /** The user's home directory. */
  readonly userHome: string;
  /** The resolved --home. */
  readonly home: string;
  /** Whether somebody set this flag to something, in any way. */
  isGiven(flag: string): boolean;
}

/** Text that is read like any other; or, where a fixed text does not do, how to get at it and what the docs say. */
export type Default = string | { readonly says: string; readonly of: (surroundings: Surroundings) => unknown };

interface Named {
  readonly flag: string;
  readonly short?: string;
  readonly usedBy: readonly Program[];
}

/** A setting that does something. */
export interface LiveSetting<T> extends Omit<Named, "flag"> {
  readonly type: "live";
  /** Without one it can stand in provider.yaml only. */
  readonly flag: string | undefined;
  /** Its key in provider.yaml. */
  readonly key?: string;
  /** A variable that other tools use for it, after the ones with our prefixes. */
  readonly alsoVariable?: string;
  readonly format: Format<T & {}>;
  readonly default: Default | undefined;
  readonly doc: string;
}

/** A setting of the Go provider that does nothing, there or here: taken with a warning. */
export interface DeadSetting extends Named {
  readonly type: "dead";
  /** Completes "it has no effect: …". */
  readonly why: string;
  /** With this value it asks for what happens anyway, so there is nothing to warn about. */
  readonly harmless?: string;
}

/** A setting of the Go provider of which only one value makes sense here: any other is rejected. */
export interface FixedSetting extends Named {
  readonly type: "fixed";
  readonly only: string;
  /** Completes "it cannot be …: …". */
  readonly why: string;
}

export type Setting = LiveSetting<unknown> | DeadSetting | FixedSetting;

/** Who uses it is said by its group where its own row does not. */
type Row<T> = Omit<LiveSetting<T>, "usedBy"> & Partial<Pick<Named, "usedBy">>;
type RowSpec = Pick<Row<unknown>, "usedBy" | "short" | "key" | "alsoVariable" | "doc">;

/** Of a setting that has no flag. */
export const inFileOnly = undefined;

/** A setting that always has a value. */
export function setting<T extends {}>(
  flag: string | undefined,
  format: Format<T>,
  spec: RowSpec & { readonly default: Default },
): Row<T> {
  return { type: "live", flag, format, ...spec };
}

/** A setting that may be left out. */
export function optionalRow<T extends {}>(
  flag: string | undefined,
  format: Format<T>,
  spec: RowSpec,
): Row<T | undefined> {
  return { type: "live", flag, format, default: undefined, ...spec } as Row<T | undefined>;
}

export function dead(
  flag: string,
  why: string,
  more: Partial<Pick<DeadSetting, "short" | "harmless" | "usedBy">> = {},
): DeadSetting {
  return { type: "dead", flag, why, usedBy: ["run"], ...more };
}

export function fixed(flag: string, only: string, why: string): FixedSetting {
  return { type: "fixed", flag, only, why, usedBy: ["run"] };
}

/** A path below --home. */
export function belowHome(name: string): Default {
  return { says: `<home>/${name}`, of: ({ home }) => `${home}/${name}` };
}

/** A path below the user's home directory. */
export function belowUserHome(name: string): Default {
  return { says: `$HOME/${name}`, of: ({ userHome }) => `${userHome}/${name}` };
}

export interface SettingGroup<Rows = Readonly<Record<string, LiveSetting<unknown>>>> {
  readonly title: string;
  /** What the settings of this group have in common, in a sentence. */
  readonly about: string;
  readonly settings: Rows;
  readonly inert: readonly (DeadSetting | FixedSetting)[];
}

type Complete<Rows> = { readonly [Name in keyof Rows]: Rows[Name] extends Row<infer T> ? LiveSetting<T> : never };

export function group<Rows extends Readonly<Record<string, Row<unknown>>>>({
  usedBy = ["run"],
  settings,
  inert = [],
  ...words
}: {
  readonly title: string;
  readonly about: string;
  readonly usedBy?: readonly Program[];
  readonly settings: Rows;
  readonly inert?: SettingGroup["inert"];
}): SettingGroup<Complete<Rows>> {
  const rows = Object.entries(settings).map(([name, row]) => [name, { usedBy, ...row }]);
  return { ...words, settings: Object.fromEntries(rows) as Complete<Rows>, inert };
}
