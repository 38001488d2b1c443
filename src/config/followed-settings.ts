/** The settings with provider.yaml as it is now, for what may change while we run: prices. The last good ones are kept. */
import { readFileSync } from "node:fs";
import type { Clock } from "../runtime/clock.ts";
import { followFile } from "../runtime/followed-file.ts";
import type { Log } from "../runtime/log.ts";
import type { LoadedConfig } from "./load.ts";
import type { ReadFile } from "./problem.ts";
import { checkPricing } from "./resolve.ts";
import type { Config } from "./table.ts";

export interface FollowedSettings {
  readonly current: Config;
  readonly trouble: string | undefined;
  onChange(listener: () => void): void;
  close(): void;
}

/**
 * Loads them as they were loaded first, whenever the file says something else. Throws where a provider would bid nothing
 * for everything: at first that ends it, and later the last good prices stay.
 */
export function followSettings(
  first: LoadedConfig,
  load: (readFile: ReadFile) => LoadedConfig,
  { clock, log }: { clock: Clock; log: Log },
): FollowedSettings {
  checkPricing(first);
  const { providerConfig: path } = first.values;
  if (path === undefined) {
    return { current: first.values, trouble: undefined, onChange: () => undefined, close: () => undefined };
  }
  const read = (text: string) => {
    const loaded = load((each) => (each === path ? text : readFileSync(each, "utf8")));
    checkPricing(loaded);
    return loaded.values;
  };
  const file = followFile({ path, read, what: "settings file" }, { clock, log: log.with({ module: "config" }) });
  return {
    get current() {
      return file.current ?? first.values;
    },
    get trouble() {
      return file.trouble && `${file.trouble}; the last good prices stay in force`;
    },
    onChange: file.onChange,
    close: file.close,
  };
}
