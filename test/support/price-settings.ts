/** Price settings as the defaults are, changed where a test says so: by the texts that a person would write. */

import type { PriceRequest, PriceSettings } from "../../src/bidengine/pricing/pricing.ts";
import { loadConfig } from "../../src/config/load.ts";
import { parseDecCoin } from "../../src/market/coin.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";

export function priceSettings(flags: Readonly<Record<string, string>>): PriceSettings {
  return loadConfig({ flags, env: {}, readFile: () => "" }).values;
}

/** An order that pays this much, offered as it is asked for. */
export function priceRequest(group: GroupSpec, most = "1000000uakt"): PriceRequest {
  const owner = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
  return { owner, group, offer: group.units, most: parseDecCoin(most) };
}
