/** Prices by the strategy that the settings name; made anew whenever they change. */
import type { Chain } from "../../chain/chain.ts";
import { type Decimal, decimalFromAtto, toInteger } from "../../market/decimal.ts";
import { totalOf } from "../../market/group-totals.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
import type { PriceSettings, Pricing, Strategy } from "./pricing.ts";
import { createScale } from "./scale.ts";
import { createScript } from "./script.ts";
import { createTable } from "./table.ts";
import { createTokenPrice, type TokenPrice } from "./token-price.ts";

/** The settings in force; whoever reads them anew keeps the last good ones. */
export interface PriceSettingsSource {
  readonly current: PriceSettings;
  readonly trouble?: string | undefined;
  onChange?(listener: () => void): void;
  close?(): void;
}

interface PricingDeps {
  /** Asked only where its oracle says what the token is worth. */
  readonly chain: Promise<Pick<Chain, "queries" | "mirror">>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface RunningPricing extends Pricing {
  /** What one AKT is worth in dollars; undefined where that is not known, or not any more. */
  tokenPrice?(): Decimal | undefined;
  /** Keeps what comes from outside up to date until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createPricing(settings: PriceSettingsSource, deps: PricingDeps): RunningPricing {
  const log = deps.log.with({ module: "pricing" });
  // Where the token's price comes from stands in no file that is read again.
  const tokenPrice = createTokenPrice(settings.current, { ...deps, log });
  const listeners: (() => void)[] = [];
  const tell = () => {
    for (const listener of listeners) listener();
  };
  let strategy = strategyOf(settings.current, tokenPrice, { ...deps, log });

  const needsToken = () => settings.current.bidPriceStrategy === "table";
  const first = needsToken() ? tokenPrice.answer() : undefined;
  if (first?.price === undefined && first) log.info("no bids on orders in uakt for now", { reason: first.why });
  settings.onChange?.(() => {
    strategy = strategyOf(settings.current, tokenPrice, { ...deps, log });
    tell();
  });
  tokenPrice.onChange(() => {
    if (needsToken()) tell();
  });

  return {
    quote: (request, signal) => strategy.quote(request, signal),
    onChange: (listener) => void listeners.push(listener),
    tokenPrice: () => tokenPrice.answer().price,
    get error() {
      const troubles = [settings.trouble, strategy.trouble, needsToken() ? tokenPrice.trouble : undefined];
      return troubles.filter((trouble) => trouble !== undefined).join("; ") || undefined;
    },
    async run(signal) {
      await tokenPrice.run(signal);
      settings.close?.();
    },
  };
}

function strategyOf(settings: PriceSettings, tokenPrice: TokenPrice, { clock, random, log }: PricingDeps): Strategy {
  switch (settings.bidPriceStrategy) {
    case "scale":
      return createScale(settings);
    case "table":
      return createTable(settings, () => tokenPrice.answer());
    case "randomRange":
      return createRandomRange(random);
    case "shellScript":
      return createScript(settings, { clock, log });
  }
}

/** A price by chance, between bounds that grow with the memory: for tests of whatever deals with many bids. */
const gibi = 2n ** 30n;
const leastPerGibi = 50n;
const mostPerGibi = 2n ** 20n;
/** A price has four digits after the point before it is made a hundredth. */
const steps = 10_000n;
const attoPerStep = 10n ** 18n / steps;
const hundredth = 100n;

export function createRandomRange(random: Random): Strategy {
  return {
    quote({ group, most }) {
      const memory = totalOf(group.units, (unit) => unit.memory.bytes);
      const least = (memory * leastPerGibi) / gibi || 1n;
      const highest = (memory * mostPerGibi) / gibi || 1n;
      const paid = toInteger(most.amount, "truncate") || 1n;
      const above = (highest < paid ? highest : paid) - least;
      const drawn = above > 0n ? BigInt(random.int(Number(above * steps))) : 0n;
      const amount = decimalFromAtto(least * 10n ** 18n + (drawn * attoPerStep) / hundredth);
      return { price: { denom: most.denom, amount }, evidence: { strategy: "randomRange", least: String(least) } };
    },
  };
}
