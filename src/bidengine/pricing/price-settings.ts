/** The settings that prices come from, by the names that the configuration has for them. */
import type { Decimal } from "../../market/decimal.ts";
import type { PerDenom } from "../../market/per-denom.ts";

export interface PriceSettings extends ScaleSettings, TableSettings, ScriptSettings, TokenPriceSettings {
  readonly bidPriceStrategy: "scale" | "table" | "shellScript" | "randomRange";
}

/** By name: a storage class, or a model of a gpu. */
export type NamedPrices = ReadonlyMap<string, Decimal>;

export interface ScaleSettings {
  readonly bidPriceCpuScale: PerDenom<Decimal>;
  readonly bidPriceMemoryScale: PerDenom<Decimal>;
  readonly bidPriceStorageScale: PerDenom<NamedPrices>;
  readonly bidPriceGpuScale: PerDenom<NamedPrices>;
  readonly bidPriceEndpointScale: PerDenom<Decimal>;
  readonly bidPriceIpScale: PerDenom<Decimal>;
}

/** Dollars a month. */
export interface TableSettings {
  readonly priceTargetCpu: Decimal;
  readonly priceTargetMemory: Decimal;
  readonly priceTargetEphemeral: Decimal;
  readonly priceTargetHdd: Decimal;
  readonly priceTargetSsd: Decimal;
  readonly priceTargetNvme: Decimal;
  readonly priceTargetEndpoint: Decimal;
  readonly priceTargetIp: Decimal;
  readonly priceTargetGpuMappings: NamedPrices;
}

export interface ScriptSettings {
  readonly bidPriceScriptPath: string | undefined;
  readonly bidPriceScriptProcessLimit: number;
  readonly bidPriceScriptTimeoutMs: number;
}

export interface TokenPriceSettings {
  readonly tokenPriceFile: string | undefined;
  readonly tokenPriceUrl: string | undefined;
  readonly tokenPriceOracle: boolean;
  readonly tokenPriceField: string | undefined;
  readonly tokenPriceTimeField?: string | undefined;
  readonly tokenPriceMaxAgeMs: number;
  readonly tokenPricePeriodMs: number;
}
