import assert from "node:assert/strict";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { groupOf } from "../../../test/support/market-group.ts";
import { priceRequest, priceSettings } from "../../../test/support/price-settings.ts";
import { writeScript } from "../../../test/support/samples/price-script.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { showDecCoin } from "../../market/coin.ts";
import { realClock } from "../../runtime/clock.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import { createPricing, type PriceSettingsSource } from "./create-pricing.ts";
import type { Pricing } from "./pricing.ts";

const { signal } = new AbortController();

async function price(pricing: Pricing, most?: string): Promise<string> {
  const answer = await pricing.quote(priceRequest(groupOf(), most), signal);
  return answer.price ? showDecCoin(answer.price) : answer.reason;
}

/** The chain is never available: a query would never end. */
const noChain = new Promise<never>(() => undefined);

function deps(clock = createVirtualClock() as typeof realClock) {
  return { chain: noChain, clock, random: createSeededRandom(1), log: silentLog };
}

test("the setting says which strategy prices, and none of them rejects", async (t) => {
  const path = writeScript(temporaryFolder(t), "echo 4.5");
  const cases: [Record<string, string>, RegExp][] = [
    [{ "bid-price-cpu-scale": "0.01" }, /^1uakt$/],
    [{ "bid-price-strategy": "table" }, /no price of AKT; set token-price-file/],
    [{ "bid-price-strategy": "randomRange" }, /^\d+(\.\d+)?uakt$/],
    [{ "bid-price-strategy": "shellScript", "bid-price-script-path": path }, /^4\.5uakt$/],
  ];
  for (const [flags, expected] of cases) {
    assert.match(await price(createPricing({ current: priceSettings(flags) }, deps(realClock))), expected);
  }
});

test("changed settings → in force at once, listeners notified, their error reported", async () => {
  let change: () => void = () => undefined;
  const settings = {
    current: priceSettings({ "bid-price-cpu-scale": "0.01" }),
    trouble: undefined as string | undefined,
    onChange(listener: () => void) {
      change = listener;
    },
  } satisfies PriceSettingsSource;
  const pricing = createPricing(settings, deps());
  let changes = 0;
  pricing.onChange(() => {
    changes += 1;
  });
  assert.equal(await price(pricing), "1uakt");
  settings.current = priceSettings({ "bid-price-strategy": "table", "price-target-cpu": "429.909" });
  change();
  assert.equal(changes, 1);
  assert.match(await price(pricing, "1000uact"), /^100\.\d+uact$/);
  assert.match(pricing.error ?? "", /no bids on orders in uakt/);
  settings.current = priceSettings({ "bid-price-cpu-scale": "0.02" });
  settings.trouble = "provider.yaml is bad";
  change();
  assert.equal(await price(pricing), "2uakt");
  assert.equal(pricing.error, "provider.yaml is bad");
});

test("token price known → orders in uakt are priced and listeners notified", async (t) => {
  const path = join(temporaryFolder(t), "akt");
  const clock = createVirtualClock();
  const flags = { "bid-price-strategy": "table", "token-price-file": path, "price-target-cpu": "4.29909" };
  const pricing = createPricing({ current: priceSettings(flags) }, deps(clock));
  const stop = new AbortController();
  const running = pricing.run(stop.signal);
  let changes = 0;
  pricing.onChange(() => {
    changes += 1;
  });
  await clock.settle();
  assert.match(await price(pricing), /cannot be read/);
  assert.match(pricing.error ?? "", /no bids on orders in uakt: .*it is not there/);
  assert.match(await price(pricing, "100uact"), /uact$/, "dollars need no price of a token");
  writeFileSync(path, "0.5");
  utimesSync(path, clock.now() / 1_000, clock.now() / 1_000);
  await clock.advance(2 * followedFileMs);
  assert.match(await price(pricing), /^\d.*uakt$/);
  assert.deepEqual([changes, pricing.error], [1, undefined]);
  stop.abort();
  await running;
  assert.equal(clock.pendingTimers, 0);
});
