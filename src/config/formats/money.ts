/** Kinds of money: prices, coins, and the list of prices per storage class. */
import {
  type Coin,
  type DecCoin,
  formatCoin,
  formatCoins,
  parseCoin,
  parseCoins,
  parseDecCoins,
  showDecCoin,
} from "../../market/coin.ts";
import { type Decimal, parseDecimal, showDecimal } from "../../market/decimal.ts";
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

export const gasPrices = textFormat<readonly DecCoin[]>({
  expects: "prices with their denoms, like 0.025uakt",
  placeholder: "<prices>",
  empty: [],
  show: (prices) => prices.map(showDecCoin).join(","),
  read: (given) => readAsMarket(() => parseDecCoins(given)),
});

/** Storage that is lost with the pod; a price without a class is meant for it. */
const ephemeral = "ephemeral";

/** "0.1,beta2=0.3,ram=0.2": a price per storage class. */
export const storagePrices: TextFormat<ReadonlyMap<string, Decimal>> = textFormat({
  expects: "a price, or prices by class like 0.1,beta2=0.3,ram=0.2",
  placeholder: "<prices>",
  isList: true,
  show: (prices) =>
    [...prices]
      .map(([name, each]) => (name === ephemeral ? showDecimal(each) : `${name}=${showDecimal(each)}`))
      .join(","),
  read(given) {
    const prices = new Map<string, Decimal>();
    for (const entry of given.split(",").map((each) => each.trim())) {
      const [, name = ephemeral, number] = /^(?:([a-z0-9][a-z0-9.-]*)\s*=)?\s*([^=]*)$/i.exec(entry) ?? [];
      if (number === undefined) return new BadValue(`${quote(entry)} is not a class and its price`);
      const each = readPrice(number);
      if (each instanceof BadValue)
        return new BadValue(`the price of ${name} storage is wrong: ${each.reason}`, each.hint);
      if (prices.has(name)) return new BadValue(`it has two prices for ${name} storage`);
      prices.set(name, each);
    }
    return prices;
  },
});
