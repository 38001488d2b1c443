import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { liveSettings, settingOf } from "./table.ts";
import { usedSettings } from "./used-settings.ts";

test("every setting that is said to have an effect is read somewhere", () => {
  const src = join(import.meta.dirname, "..");
  const readers = globSync(["{cli,config}/*.ts", "bidengine/pricing/*.ts"], { cwd: src }).filter(
    (path) => !/test\.ts$|used-settings/.test(path),
  );
  const words = new Set(readers.flatMap((path) => readFileSync(join(src, path), "utf8").split(/[^\w-]+/)));
  assert.deepEqual(
    usedSettings.filter((name) => !words.has(name) && !words.has(settingOf(name).flag ?? "")),
    [],
  );
});

test("no setting is read by nothing", () => {
  const used: ReadonlySet<string> = new Set(usedSettings);
  assert.deepEqual(
    liveSettings.map(([name]) => name).filter((name) => !used.has(name)),
    [],
  );
});
