/** Keeps the last good content of provider.yaml in the journal: the next start takes it where the file is invalid by then. */

import type { FollowedSettings } from "../config/load.ts";
import type { Journal } from "../journal/journal.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { followedFileMs } from "../runtime/limits.ts";

export function createSettingsService(
  settings: FollowedSettings,
  { journal, clock }: { readonly journal: Promise<Pick<Journal, "read" | "relaxed">>; readonly clock: Clock },
): Service {
  async function keep(): Promise<void> {
    const { read, relaxed } = await journal;
    const { lastGood } = settings;
    if (lastGood === undefined || read.files.get(lastGood.path) === lastGood.text) return;
    await relaxed("settings file", ({ files }) => files.put(lastGood.path, lastGood.text));
  }

  return {
    name: "settings",
    async start(scope) {
      scope.onStop(settings.close);
      scope.task("keep last good content", async (signal) => {
        while (!signal.aborted) {
          await keep();
          await sleep(clock, followedFileMs, signal);
        }
      });
    },
    *conditions() {
      if (settings.trouble !== undefined) yield condition("SettingsFileInvalid", settings.trouble);
    },
  };
}
