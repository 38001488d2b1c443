/** Every setting, its value and where that came from. Secrets are only said to be set. */
import type { LoadedConfig } from "./load.ts";
import { liveSettings } from "./table.ts";

export function printConfig(loaded: LoadedConfig): string {
  const rows = rowsOf(loaded).map(({ setting, value, source }) => [
    setting,
    value === "" ? "(none)" : (value ?? "(not set)"),
    source,
  ]);
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
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
