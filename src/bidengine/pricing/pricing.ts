/** What to ask for an order. */
import type { JsonObject } from "../../bus/topics.ts";
import type { DecCoin, PerDenom } from "../../market/coin.ts";
import type { Decimal } from "../../market/decimal.ts";
import type { Fits } from "../../market/fit.ts";
import type { Attribute, GroupSpec } from "../../market/group-spec.ts";

export interface Pricing {
  /** Synchronous where no process or server is called. Never rejects: an error is a no with its reason. */
  quote(request: PriceRequest, signal: AbortSignal): Quote | Promise<Quote>;
  /** Notified when prices changed. */
  onChange(listener: () => void): void;
  /** Such as an outdated token price or an unreadable file. */
  readonly error: string | undefined;
}

export type Strategy = Pick<Pricing, "quote"> & { readonly error?: string | undefined };

export function no(reason: string, evidence: JsonObject = {}): Quote & { price: undefined } {
  return { price: undefined, reason, evidence };
}

export interface PriceRequest {
  readonly owner: string;
  readonly group: GroupSpec;
  readonly offer: Fits["offer"];
  /** The most that the order pays per block for all of it. */
  readonly most: DecCoin;
  /** Not a new order: new ones are priced first, and for this one a price up to a minute old is enough. */
  readonly isRecheck?: boolean | undefined;
  /** Not the first offer of its order: the first offers of all orders are priced before it. */
  readonly isFurther?: boolean | undefined;
}

export type Quote =
  | { readonly price: DecCoin; readonly evidence: JsonObject }
  | {
      readonly price: undefined;
      /** What it would have been, where the order only pays too little. */
      readonly wanted?: DecCoin;
      readonly reason: string;
      readonly evidence: JsonObject;
    };

/** By name: a storage class, or a GPU model. */
export type NamedPrices = ReadonlyMap<string, Decimal>;

/** The settings that prices come from, by their names in the configuration. */
export interface PriceSettings {
  readonly bidPriceStrategy: "scale" | "table" | "shellScript" | "randomRange";

  readonly bidPriceCpuScale: PerDenom<Decimal>;
  readonly bidPriceMemoryScale: PerDenom<Decimal>;
  readonly bidPriceStorageScale: PerDenom<NamedPrices>;
  readonly bidPriceGpuScale: PerDenom<NamedPrices>;
  readonly bidPriceEndpointScale: PerDenom<Decimal>;
  readonly bidPriceIpScale: PerDenom<Decimal>;

  /** In dollars a month, as all of the table. */
  readonly priceTargetCpu: Decimal;
  readonly priceTargetMemory: Decimal;
  readonly priceTargetEphemeral: Decimal;
  readonly priceTargetHdd: Decimal;
  readonly priceTargetSsd: Decimal;
  readonly priceTargetNvme: Decimal;
  readonly priceTargetEndpoint: Decimal;
  readonly priceTargetIp: Decimal;
  readonly priceTargetGpuMappings: NamedPrices;

  readonly bidPriceScriptPath: string | undefined;
  readonly bidPriceScriptProcessLimit: number;
  readonly bidPriceScriptTimeoutMs: number;

  readonly tokenPriceFile: string | undefined;
  readonly tokenPriceUrl: string | undefined;
  readonly tokenPriceOracle: boolean;
  readonly tokenPriceField: string | undefined;
  readonly tokenPriceTimeField?: string | undefined;
  readonly tokenPriceMaxAgeMs: number;
  readonly tokenPricePeriodMs: number;
}

interface PricedGpu {
  readonly model: string;
  readonly ram?: string;
  readonly interface?: string;
}

/** From attributes like "vendor/nvidia/model/a100/ram/80Gi/interface/sxm"; of several of a vendor, the last. */
export function gpusByVendor(attributes: readonly Attribute[]): Map<string, PricedGpu> {
  const gpus = new Map<string, PricedGpu>();
  for (const { key } of attributes) {
    const parts = key.split("/");
    const named = (word: string) => parts.find((_, index) => index % 2 === 1 && parts[index - 1] === word);
    const [vendor, model, ram, connector] = ["vendor", "model", "ram", "interface"].map(named);
    if (vendor === undefined || model === undefined) continue;
    gpus.set(vendor, { model, ...(ram && { ram }), ...(connector && { interface: connector }) });
  }
  return gpus;
}

/** As in lists of prices: "a100.80Gi.sxm"; empty where no GPU is named. */
export function gpuName(attributes: readonly Attribute[]): string {
  const gpus = gpusByVendor(attributes);
  const gpu = gpus.get("nvidia") ?? gpus.get("amd");
  return gpu ? [gpu.model, gpu.ram, gpu.interface].filter(Boolean).join(".") : "";
}

/** By the whole name, then without its last part, then by the model alone. */
export function gpuPrice(name: string, prices: NamedPrices) {
  const shorter = name.replace(/\.[^.]*$/, "");
  const model = name.replace(/\..*$/, "");
  return prices.get(name) ?? prices.get(shorter) ?? prices.get(model);
}
