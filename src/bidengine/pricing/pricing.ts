/** What to ask for an order. */
import type { JsonObject } from "../../bus/topics.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";

export interface Pricing {
  /** At once where nobody outside is asked. Never rejects: whatever goes wrong is a no that says so. */
  quote(request: PriceRequest, signal: AbortSignal): Quote | Promise<Quote>;
  /** Told when prices changed: what was too dear may not be any more. */
  onChange(listener: () => void): void;
  /** What an operator should know: a price that is old, a file that cannot be read. */
  readonly trouble: string | undefined;
}

/** One way to come to a price. */
export type Strategy = Pick<Pricing, "quote"> & {
  readonly trouble?: string | undefined;
};

export function no(reason: string, evidence: JsonObject = {}): NoPrice {
  return { price: undefined, reason, evidence };
}

export interface PriceRequest {
  /** The tenant. */
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
  /** How it came about. */
  readonly evidence: JsonObject;
}

export interface NoPrice {
  readonly price: undefined;
  /** What it would have been, where the order only pays too little. */
  readonly wanted?: DecCoin;
  readonly reason: string;
  readonly evidence: JsonObject;
}
