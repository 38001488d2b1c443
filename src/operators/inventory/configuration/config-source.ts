/** The configuration in force, and what is wrong with a newer one. */
import { formatTime } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { followFile } from "../../../runtime/followed-file.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { defaultInventoryConfig, type InventoryConfig, parseInventoryConfig } from "./inventory-config.ts";

interface ConfigSourceDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly onChange: () => void;
}

export interface ConfigSource {
  readonly current: InventoryConfig;
  /** False until a named file was read once: what it excludes is unknown. */
  readonly settled: boolean;
  readonly conditions: readonly Condition[];
  close(): void;
}

/** A path ending in .yaml or .yml, or YAML itself. Throws AKP_INVENTORY_CONFIG_REFUSED for bad inline YAML. */
export function createConfigSource(source: string | undefined, deps: ConfigSourceDeps): ConfigSource {
  if (source === undefined || source.trim() === "") return fixed(defaultInventoryConfig);
  return isPath(source) ? fromFile(source, deps) : fixed(parseInventoryConfig(source));
}

/** As on the network, but in one word: the last line of YAML may end in .yaml, too. */
function isPath(source: string): boolean {
  return /^\S*\.ya?ml$/.test(source);
}

function fixed(current: InventoryConfig): ConfigSource {
  return { current, settled: true, conditions: [], close: () => undefined };
}

function fromFile(path: string, { clock, log, onChange }: ConfigSourceDeps): ConfigSource {
  const read = (text: string) => ({ config: parseInventoryConfig(text, path), sinceMs: clock.now() });
  const file = followFile({ path, read, what: "inventory configuration" }, { clock, log });
  file.onChange(onChange);
  return {
    get current() {
      return file.current?.config ?? defaultInventoryConfig;
    },
    get settled() {
      return file.current !== undefined;
    },
    get conditions() {
      if (file.trouble === undefined) return [];
      const inForce = file.current
        ? `the one of ${formatTime(file.current.sinceMs)} stays in force`
        : "nothing is offered until it can be used";
      return [condition("ConfigurationUnusable", `${file.trouble}; ${inForce}`)];
    },
    close: file.close,
  };
}
