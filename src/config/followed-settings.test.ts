import assert from "node:assert/strict";
import { unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { showDecimal } from "../market/decimal.ts";
import { followedFileMs } from "../runtime/limits.ts";
import { silentLog } from "../runtime/log.ts";
import { followSettings, loadConfig } from "./load.ts";
import type { ReadFile } from "./problem.ts";

test("a price that changes in provider.yaml is in force within seconds, and a bad file keeps the last good one", async (t) => {
  const path = join(temporaryFolder(t), "provider.yaml");
  writeFileSync(path, "bidpricecpuscale: 1\n");
  const load = (readFile: ReadFile) =>
    loadConfig({ flags: { "provider-config": path, "bid-price-memory-scale": "7" }, env: {}, readFile });
  const clock = createVirtualClock();
  const settings = followSettings(
    load(() => "bidpricecpuscale: 1\n"),
    load,
    { clock, log: silentLog },
  );
  t.after(settings.close);
  let told = 0;
  settings.onChange(() => {
    told += 1;
  });
  const price = () => showDecimal(settings.current.bidPriceCpuScale.general ?? { atto: 0n });
  const look = () => clock.advance(followedFileMs);
  await look();
  assert.deepEqual([price(), told], ["1", 0]);

  writeFileSync(path, "bidpricecpuscale: 2.5\nprice_target_cpu: 3\n");
  await look();
  assert.deepEqual([price(), showDecimal(settings.current.priceTargetCpu), told], ["2.5", "3", 1]);
  assert.equal(showDecimal(settings.current.bidPriceMemoryScale.general ?? { atto: 0n }), "7", "flags still hold");

  const bad: [string, RegExp][] = [
    ["bidpricecpuscale: cheap\n", /provider\.yaml:1:\d+: bidpricecpuscale cannot be "cheap".*stays in force/],
    ["bidpricecpuscal: 1\n", /there is no setting bidpricecpuscal/],
    ["{", /not valid YAML/],
  ];
  for (const [text, expected] of bad) {
    writeFileSync(path, text);
    await look();
    assert.match(settings.trouble ?? "", expected);
    assert.equal(price(), "2.5");
    assert.match(settings.lastGood?.text ?? "", /^bidpricecpuscale: 2\.5\n/);
  }
  unlinkSync(path);
  await look();
  assert.match(settings.trouble ?? "", /it is not there/);
  writeFileSync(path, "bidpricecpuscale: 3\n");
  await look();
  assert.deepEqual([price(), settings.trouble], ["3", undefined]);
  assert.deepEqual(settings.lastGood, { path, text: "bidpricecpuscale: 3\n" });
});

test("without a provider.yaml the settings stay as they were given", () => {
  const load = (readFile: ReadFile) => loadConfig({ flags: { "bid-price-cpu-scale": "1" }, env: {}, readFile });
  const clock = createVirtualClock();
  const first = load(() => "");
  assert.equal(followSettings(first, load, { clock, log: silentLog }).current, first.values);
  assert.equal(clock.pendingTimers, 0);
});
