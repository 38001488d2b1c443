/** Prices of the demo's provider: dollars a month, by the network's usual figures, for orders in uact. */
import type { PriceSettings } from "../bidengine/pricing/pricing.ts";
import type { PerDenom } from "../market/coin.ts";
import { parseDecimal } from "../market/decimal.ts";

/** The table of dollars is what counts; there are no scales. */
const none: PerDenom<never> = { general: undefined, own: new Map<string, never>() };
const gpus = { h100: "1100", rtx4090: "350" };

export const demoPrices: PriceSettings = {
  bidPriceStrategy: "table",
  priceTargetCpu: parseDecimal("1.6"),
  priceTargetMemory: parseDecimal("0.8"),
  priceTargetEphemeral: parseDecimal("0.02"),
  priceTargetHdd: parseDecimal("0.01"),
  priceTargetSsd: parseDecimal("0.03"),
  priceTargetNvme: parseDecimal("0.04"),
  priceTargetEndpoint: parseDecimal("0.05"),
  priceTargetIp: parseDecimal("5"),
  priceTargetGpuMappings: new Map(Object.entries(gpus).map(([model, dollars]) => [model, parseDecimal(dollars)])),
  bidPriceCpuScale: none,
  bidPriceMemoryScale: none,
  bidPriceStorageScale: none,
  bidPriceGpuScale: none,
  bidPriceEndpointScale: none,
  bidPriceIpScale: none,
  bidPriceScriptPath: undefined,
  bidPriceScriptProcessLimit: 1,
  bidPriceScriptTimeoutMs: 1_000,
  tokenPriceFile: undefined,
  tokenPriceUrl: undefined,
  tokenPriceOracle: false,
  tokenPriceField: undefined,
  tokenPriceMaxAgeMs: 3_600_000,
  tokenPricePeriodMs: 300_000,
};
