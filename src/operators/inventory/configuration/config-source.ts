/**
 * The configuration in force, and what is wrong with the one that should be. A file is read again and again instead of
 * being watched: a ConfigMap changes by a swap of symbolic links, which a watch of the file takes for its end.
 */
import { readFileSync, statSync } from "node:fs";
import { formatTime, type Timer } from "../../../runtime/clock.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import type { OperatorGround } from "../ground.ts";
import type { Condition } from "../inventory.ts";
import { defaultInventoryConfig, type InventoryConfig } from "./inventory-config.ts";
import { parseInventoryConfig } from "./parse-inventory-config.ts";

interface ConfigSourceDeps extends Pick<OperatorGround, "clock" | "log"> {
  /** Told after the configuration or its conditions have changed. */
  readonly onChange: () => void;
}

export interface ConfigSource {
  /** The last good one; the default before there was one. */
  readonly current: InventoryConfig;
  /** False while a file is named but nothing good was read from it yet: what it excludes is not known. */
  readonly settled: boolean;
  readonly conditions: readonly Condition[];
  close(): void;
}

/**
 * The source is a path that ends in .yaml or .yml, or YAML itself; without it the default is in force. Throws
 * AKP_INVENTORY_CONFIG_REFUSED for bad YAML that was given itself: nobody will change that while we run.
 */
export function createConfigSource(source: string | undefined, deps: ConfigSourceDeps): ConfigSource {
  if (source === undefined || source.trim() === "") return fixed(defaultInventoryConfig);
  return isPath(source) ? fromFile(source, deps) : fixed(parseInventoryConfig(source));
}

/** As on the network, but a path is one word: the last line of YAML may well name a file, too. */
function isPath(source: string): boolean {
  return /^\S*\.ya?ml$/.test(source);
}

function fixed(current: InventoryConfig): ConfigSource {
  return { current, settled: true, conditions: [], close: () => undefined };
}

function fromFile(path: string, { clock, log, onChange }: ConfigSourceDeps): ConfigSource {
  let good: { readonly config: InventoryConfig; readonly text: string; readonly sinceMs: number } | undefined;
  let trouble: ProviderError | undefined;
  let lastText: string | undefined;
  let timer: Timer | undefined;

  /** What is wrong with the file now; undefined when what it says is in force. */
  function look(): ProviderError | undefined {
    try {
      const text = readText(path);
      // The same text is as good or bad as it was.
      if (text === lastText) return good?.text === text ? undefined : trouble;
      lastText = text;
      good = { config: parseInventoryConfig(text, path), text, sinceMs: clock.now() };
      log.info("read the inventory configuration", { path });
      return undefined;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      if (error.code !== "AKP_INVENTORY_CONFIG_REFUSED") lastText = undefined;
      return error;
    }
  }

  /** Whether the configuration, or what is wrong with it, is another than before. */
  function hasChanged(): boolean {
    const before = { good, message: trouble?.message };
    trouble = look();
    if (good === before.good && trouble?.message === before.message) return false;
    if (trouble) log.error("failed to read the inventory configuration", { error: trouble });
    return true;
  }

  function lookAgain(): void {
    timer = clock.timer(limits.inventoryConfigLookMs, () => {
      lookAgain();
      if (hasChanged()) onChange();
    });
  }

  hasChanged();
  lookAgain();
  return {
    get current() {
      return good?.config ?? defaultInventoryConfig;
    },
    get settled() {
      return good !== undefined;
    },
    get conditions() {
      if (!trouble) return [];
      const inForce = good
        ? `the one of ${formatTime(good.sinceMs)} stays in force`
        : "nothing is offered until it can be used";
      return [{ type: "ConfigurationUnusable", message: `${trouble.message}; ${inForce}` }];
    },
    close: () => timer?.cancel(),
  };
}

function readText(path: string): string {
  const unreadable = (reason: string) => new ProviderError("AKP_INVENTORY_CONFIG_UNREADABLE", { path, reason });
  try {
    const stat = statSync(path);
    // A pipe would hold everything up until somebody writes into it.
    if (!stat.isFile()) throw unreadable("it is not a file");
    if (stat.size > limits.settingsFileChars) throw unreadable(`it has more than ${limits.settingsFileChars} bytes`);
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (thrown instanceof ProviderError) throw thrown;
    throw unreadable(systemCodeOf(thrown) === "ENOENT" ? "it is not there" : reasonOf(thrown));
  }
}
