/** Prices by the strategy in the settings, replaced when they change. */
import type { Chain } from "../../chain/chain.ts";
import { type Decimal, decimalFromAtto, toInteger } from "../../market/decimal.ts";
import { totalOf } from "../../market/group-totals.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import type { Random } from "../../runtime/random.ts";
import type { PriceSettings, Pricing, Strategy } from "./pricing.ts";
import { createScale } from "./scale.ts";
import { createScript } from "./script.ts";
import { createTable } from "./table.ts";
import { createTokenPrice, type TokenPrice } from "./token-price.ts";

/** The settings in force; after a faulty change the last good ones. */
export interface PriceSettingsSource {
  readonly current: PriceSettings;
  readonly trouble?: string | undefined;
  onChange?(listener: () => void): void;
  close?(): void;
}

interface PricingDeps extends RuntimeDeps {
  /** Used only where its oracle is the source of the token price. */
  readonly chain: Promise<Pick<Chain, "queries" | "mirror">>;
}

export interface RunningPricing extends Pricing {
  /** Dollars per AKT; undefined while that is not known. */
  tokenPrice?(): Decimal | undefined;
  /** Keeps the token price current until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createPricing(settings: PriceSettingsSource, options: PricingDeps): RunningPricing {
  const deps = { ...options, log: options.log.with({ module: "pricing" }) };
  // The source of the token price is not among the settings that are read again.
  const tokenPrice = createTokenPrice(settings.current, deps);
  const listeners: (() => void)[] = [];
  const notify = () => {
    for (const listener of listeners) listener();
  };
  let strategy = strategyOf(settings.current, tokenPrice, deps);

  const needsToken = () => settings.current.bidPriceStrategy === "table";
  const first = tokenPrice.answer();
  if (needsToken() && !first.price) deps.log.info("no bids on orders in uakt for now", { reason: first.why });
  settings.onChange?.(() => {
    strategy = strategyOf(settings.current, tokenPrice, deps);
    notify();
  });
  tokenPrice.onChange(() => {
    if (needsToken()) notify();
  });

  return {
    quote: (request, signal) => strategy.quote(request, signal),
    onChange: (listener) => void listeners.push(listener),
    tokenPrice: () => tokenPrice.answer().price,
    get error() {
      const errors = [settings.trouble, strategy.error, needsToken() ? tokenPrice.error : undefined];
      return errors.filter((error) => error !== undefined).join("; ") || undefined;
    },
    async run(signal) {
      await tokenPrice.run(signal);
      settings.close?.();
    },
  };
}

function strategyOf(settings: PriceSettings, tokenPrice: TokenPrice, deps: PricingDeps): Strategy {
  switch (settings.bidPriceStrategy) {
    case "scale":
      return createScale(settings);
    case "table":
      return createTable(settings, tokenPrice.answer);
    case "randomRange":
      return createRandomRange(deps.random);
    case "shellScript":
      return createScript(settings, deps);
  }
}

const gibi = 2n ** 30n;
const leastPerGibi = 50n;
const mostPerGibi = 2n ** 20n;
/** A price has four digits after the point before it is made a hundredth. */
const steps = 10_000n;
const attoPerStep = 10n ** 18n / steps;
const hundredth = 100n;

/** A random price, between bounds that grow with the memory: for tests with many bids. */
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
