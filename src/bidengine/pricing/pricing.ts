/** What to ask for an order. */
import type { JsonObject } from "../../bus/topics.ts";
import type { DecCoin, PerDenom } from "../../market/coin.ts";
import type { Decimal } from "../../market/decimal.ts";
import type { Fits } from "../../market/fit.ts";
import type { Attribute, GroupSpec } from "../../market/group-spec.ts";

export interface Pricing {
  /** At once where nobody outside is asked. Never rejects: whatever goes wrong is a no that says so. */
  quote(request: PriceRequest, signal: AbortSignal): Quote | Promise<Quote>;
  /** Told when prices changed: what was too dear may not be any more. */
  onChange(listener: () => void): void;
  /** What an operator should know: a price that is old, a file that cannot be read. */
  readonly error: string | undefined;
}

export type Strategy = Pick<Pricing, "quote"> & {
  readonly trouble?: string | undefined;
};

export function no(reason: string, evidence: JsonObject = {}): NoPrice {
  return { price: undefined, reason, evidence };
}

export interface PriceRequest {
  readonly owner: string;
  readonly group: GroupSpec;
  readonly offer: Fits["offer"];
  /** The most that the order pays per block for all of it. */
  readonly most: DecCoin;
  /** Not a new order: those are priced first, and for this one a price that is up to a minute old will do. */
  readonly isRecheck?: boolean | undefined;
  /** Not the first offer of its order: the first offers of all orders are priced before it. */
  readonly isFurther?: boolean | undefined;
}

export type Quote = Price | NoPrice;

export interface Price {
  readonly price: DecCoin;
  readonly evidence: JsonObject;
}

export interface NoPrice {
  readonly price: undefined;
  /** What it would have been, where the order only pays too little. */
  readonly wanted?: DecCoin;
  readonly reason: string;
  readonly evidence: JsonObject;
}

// The settings that prices come from, by the names that the configuration has for them.

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

// What a unit's gpu is called in lists of prices: model, model.memory, model.interface or all three.

interface PricedCard {
  readonly model: string;
  readonly ram?: string;
  readonly interface?: string;
}

/** As they are written, "vendor/nvidia/model/a100/ram/80Gi/interface/sxm"; of several of a vendor, the last. */
export function gpusByVendor(attributes: readonly Attribute[]): Map<string, PricedCard> {
  const cards = new Map<string, PricedCard>();
  for (const { key } of attributes) {
    const parts = key.split("/");
    const named = (word: string) => parts.find((_, index) => index % 2 === 1 && parts[index - 1] === word);
    const [vendor, model, ram, connector] = ["vendor", "model", "ram", "interface"].map(named);
    if (vendor === undefined || model === undefined) continue;
    cards.set(vendor, { model, ...(ram && { ram }), ...(connector && { interface: connector }) });
  }
  return cards;
}

/** "a100.80Gi.sxm"; nothing where no card is named. */
export function gpuName(attributes: readonly Attribute[]): string {
  const cards = gpusByVendor(attributes);
  const card = cards.get("nvidia") ?? cards.get("amd");
  return card ? [card.model, card.ram, card.interface].filter(Boolean).join(".") : "";
}

/** By the whole name, then without its last part, then by the model alone. */
export function gpuPrice(name: string, prices: NamedPrices) {
  const shorter = name.replace(/\.[^.]*$/, "");
  const model = name.replace(/\..*$/, "");
  return prices.get(name) ?? prices.get(shorter) ?? prices.get(model);
}
