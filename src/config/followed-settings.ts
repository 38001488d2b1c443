/** The settings with provider.yaml as it is now, for what may change while we run: prices. The last good ones are kept. */
import { readFileSync } from "node:fs";
import type { Clock } from "../runtime/clock.ts";
import { followFile } from "../runtime/followed-file.ts";
import type { Log } from "../runtime/log.ts";
import type { LoadedConfig } from "./load.ts";
import type { ReadFile } from "./problem.ts";
import type { Config } from "./table.ts";

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
