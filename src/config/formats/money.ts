/** Kinds of money: prices, coins, and the list of prices per storage class. */

import type { PerDenom } from "../../market/coin.ts";
import {
  type Coin,
  type DecCoin,
  decCoinOf,
  formatCoin,
  formatCoins,
  parseCoin,
  parseCoins,
  parseDecCoins,
  showDecCoin,
  uakt,
} from "../../market/coin.ts";
import { type Decimal, parseDecimal, showDecimal, zero } from "../../market/decimal.ts";
import { ephemeralClass } from "../../market/group-totals.ts";
import { quote } from "../problem.ts";
import { BadValue, readAsMarket, type TextFormat, textFormat } from "./format.ts";

export const price: TextFormat<Decimal> = textFormat({
  expects: "a number like 0.004",
  placeholder: "<price>",
  show: showDecimal,
  read: readPrice,
});

function readPrice(given: string): Decimal | BadValue {
  const value = readAsMarket(() => parseDecimal(given));
  return !(value instanceof BadValue) && value.atto < 0n ? new BadValue("it cannot be negative") : value;
}

/** A factor of at least one: gas that is estimated too low fails, so nobody lowers the estimate. */
export const gasAdjustment: TextFormat<Decimal> = textFormat({
  expects: "a number of at least 1, like 1.5",
  placeholder: "<factor>",
  show: showDecimal,
  read(given) {
    const value = readPrice(given);
    return !(value instanceof BadValue) && value.atto < 10n ** 18n ? new BadValue("it must be at least 1") : value;
  },
});

export const gas: TextFormat<"auto" | bigint> = textFormat({
  expects: "auto or a whole number like 200000",
  placeholder: "<auto|units>",
  read(given) {
    if (given === "auto") return given;
    return /^[1-9]\d{0,17}$/.test(given) ? BigInt(given) : new BadValue("it is neither auto nor a number of gas units");
  },
});

export const coin: TextFormat<Coin> = textFormat({
  expects: "an amount with its denom, like 500000uakt",
  placeholder: "<coin>",
  show: formatCoin,
  read: (given) => readAsMarket(() => parseCoin(given)),
});

export const coins = textFormat<readonly Coin[]>({
  expects: "amounts with their denoms, like 5000uakt",
  placeholder: "<coins>",
  empty: [],
  show: formatCoins,
  read: (given) => readAsMarket(() => parseCoins(given)),
});

/** A number alone is in uakt, as the Go provider's settings have it. */
export const balances = textFormat<readonly Coin[]>({
  expects: "amounts with their denoms, like 1000000uakt; a number alone is in uakt",
  placeholder: "<coins>",
  empty: [],
  show: formatCoins,
  read: (given) => readAsMarket(() => parseCoins(/^\s*\d+\s*$/.test(given) ? `${given.trim()}${uakt}` : given)),
});

export const gasPrices = textFormat<readonly DecCoin[]>({
  expects: "prices with their denoms, like 0.025uakt",
  placeholder: "<prices>",
  empty: [],
  show: (prices) => prices.map(showDecCoin).join(","),
  read: (given) => readAsMarket(() => parseDecCoins(given)),
});

/** "0.1,beta2=0.3,ram=0.2": a price per storage class; one without a class is for storage that is lost with the pod. */
export const storagePrices = pricesByName({
  expects: "a price, or prices by class like 0.1,beta2=0.3,ram=0.2",
  what: (name) => `${name} storage`,
  unnamed: ephemeralClass,
});

/** "a100=120,h100.80Gi.sxm=300,*=100": a price per model, perhaps with its memory and its interface. */
export const gpuPrices = pricesByName({
  expects: "prices by model like a100=120,h100.80Gi.sxm=300,*=100",
  what: (name) => `the gpu ${name}`,
});

function pricesByName({ expects, what, unnamed }: NamedPrices): TextFormat<ReadonlyMap<string, Decimal>> {
  return textFormat<ReadonlyMap<string, Decimal>>({
    expects,
    placeholder: "<prices>",
    isList: true,
    ...(unnamed === undefined && { empty: new Map() }),
    show: (prices) =>
      [...prices]
        .map(([name, each]) => (name === unnamed ? showDecimal(each) : `${name}=${showDecimal(each)}`))
        .join(","),
    read(given) {
      const prices = new Map<string, Decimal>();
      for (const entry of given.split(",").map((each) => each.trim())) {
        // As the network's script reads it, to which existing lists were written.
        if (entry === "" && unnamed === undefined) continue;
        const [, name = unnamed, number] = /^(?:(\*|[a-z0-9][a-z0-9.-]*)\s*=)?\s*([^=]*)$/i.exec(entry) ?? [];
        if (name === undefined || number === undefined)
          return new BadValue(`${quote(entry)} is not a name and its price`);
        const each = readPrice(number);
        if (each instanceof BadValue)
          return new BadValue(`the price of ${what(name)} is wrong: ${each.reason}`, each.hint);
        if (prices.has(name)) return new BadValue(`it has two prices for ${what(name)}`);
        prices.set(name, each);
      }
      return prices.size > 0 ? prices : new BadValue("it has no price in it");
    },
  });
}

interface NamedPrices {
  readonly expects: string;
  readonly what: (name: string) => string;
  /** What a price without a name is for; without it every price has one. */
  readonly unnamed?: string;
}

/** Of another format: "0.004" for every denomination, "0.004;uakt:0.01" with one that has its own. */
export function perDenom<T>(format: TextFormat<T>): TextFormat<PerDenom<T>> {
  return textFormat<PerDenom<T>>({
    expects: `${format.expects}; another for one denomination follows as ;uakt:…`,
    placeholder: format.placeholder,
    ...(format.isList && { isList: true }),
    ...(format.read("") instanceof BadValue ? {} : { empty: { general: undefined, own: new Map() } }),
    show: ({ general, own }) =>
      [
        ...(general === undefined ? [] : [format.show(general)]),
        ...Array.from(own, ([denom, value]) => `${denom}:${format.show(value)}`),
      ].join(";"),
    read(given) {
      const own = new Map<string, T>();
      let general: T | undefined;
      for (const entry of given.split(";").map((each) => each.trim())) {
        const end = entry.lastIndexOf(":");
        const value = format.read(entry.slice(end + 1));
        if (value instanceof BadValue) return value;
        const denom = end < 0 ? undefined : readAsMarket(() => decCoinOf(zero, entry.slice(0, end).trim()).denom);
        if (denom instanceof BadValue) return denom;
        if (denom === undefined ? general !== undefined : own.has(denom))
          return new BadValue(
            `it says twice what holds ${denom === undefined ? "for every denomination" : `in ${denom}`}`,
          );
        if (denom === undefined) general = value;
        else own.set(denom, value);
      }
      return { general, own };
    },
  });
}
