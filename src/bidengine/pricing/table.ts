/** Dollars a month, by the rules of the network's standard price script, in exact fractions that are rounded once. */
import { type DecCoin, isDollar, showDecCoin, uakt } from "../../market/coin.ts";
import {
  compareDecimals,
  type Decimal,
  decimalFromAtto,
  decimalOf,
  divide,
  showDecimal,
} from "../../market/decimal.ts";
import { leasedAddressesOf, storageOf, totalOf } from "../../market/group-totals.ts";
import {
  gpuName,
  gpuPrice,
  type NamedPrices,
  no,
  type PriceRequest,
  type PriceSettings,
  type Quote,
  type Strategy,
} from "./pricing.ts";
import type { TokenPriceAnswer } from "./token-price.ts";

/** Of 6.117 seconds each, in a month of 30.437 days. */
const blocksOfMonth = 429_909n;
/** Of a token, and of the price's digits after the point. */
const million = 1_000_000n;
const one = 10n ** 18n;
const milli = 1_000n;
const gibi = 2n ** 30n;
/** Sums of dollars are counted in these parts, of which thousandths, 2⁻³⁰ths and 10⁻¹⁸ths are all whole numbers. */
const partsOfDollar = milli * gibi * one;
/** Least price of a GPU whose model has none. */
const leastForUnknown = decimalOf(100n);

export function createTable(settings: PriceSettings, tokenPrice: () => TokenPriceAnswer): Strategy {
  return { quote: (request) => quote(request, settings, tokenPrice) };
}

function quote(request: PriceRequest, settings: PriceSettings, tokenPrice: () => TokenPriceAnswer): Quote {
  const { most } = request;
  const { denom } = most;
  if (denom !== uakt && !isDollar(denom)) return no(`there are no prices in ${denom}`, { strategy: "table" });
  const token = denom === uakt ? tokenPrice() : undefined;
  if (token && token.price === undefined) return no(token.why, { strategy: "table" });
  const parts = monthly(request, settings);
  // Millionths of the token per block, as a fraction.
  const over = parts * million * (token ? one : 1n);
  const under = partsOfDollar * blocksOfMonth * (token ? token.price.atto : 1n);
  const price = { denom, amount: decimalFromAtto(divide(over * million, under, "nearest") * (one / million)) };
  const evidence = {
    strategy: "table",
    dollarsPerMonth: showDecimal(decimalFromAtto(divide(parts, milli * gibi, "nearest"))),
    rate: showDecCoin(price),
    ...(token && { dollarsPerToken: showDecimal(token.price), tokenPriceAgeMs: Math.floor(token.ageMs) }),
  };
  // The script compares before rounding in uakt, and after it in dollars.
  const tooLow = token ? over * one > most.amount.atto * under : compareDecimals(price.amount, most.amount) > 0;
  if (tooLow) return { ...no(tooLowReason(price, most), evidence), wanted: price };
  if (price.amount.atto === 0n) return no("the price would be zero", evidence);
  return { price, evidence };
}

function tooLowReason(price: DecCoin, most: DecCoin): string {
  return `requested rate is too low: at least ${showDecCoin(price)} is expected, and ${showDecCoin(most)} is offered`;
}

/** What a month of it costs, in parts of a dollar. */
function monthly({ group: { units }, offer }: PriceRequest, settings: PriceSettings): bigint {
  const storage = storageOf(units);
  // Endpoints and addresses count once per unit: its replicas share them.
  const endpoints = BigInt(units.flatMap((unit) => unit.endpoints).length);
  const ips = BigInt(units.reduce((sum, unit) => sum + leasedAddressesOf([unit]), 0));
  const fallback = dearest(settings.priceTargetGpuMappings);
  const gpus = units.map((unit, index): [bigint, Decimal] => {
    const name = gpuName(offer[index]?.gpu.attributes ?? unit.gpu.attributes);
    return [unit.gpu.count * BigInt(unit.count), gpuPrice(name, settings.priceTargetGpuMappings) ?? fallback];
  });
  const sum = (...pairs: readonly (readonly [bigint, Decimal])[]) =>
    pairs.reduce((total, [amount, price]) => total + amount * price.atto, 0n);
  const cpu = sum([totalOf(units, (unit) => unit.cpu.milli), settings.priceTargetCpu]);
  const perGibi = sum(
    [totalOf(units, (unit) => unit.memory.bytes), settings.priceTargetMemory],
    [storage.get("ephemeral") ?? 0n, settings.priceTargetEphemeral],
    [storage.get("beta1") ?? 0n, settings.priceTargetHdd],
    [storage.get("beta2") ?? 0n, settings.priceTargetSsd],
    [storage.get("beta3") ?? 0n, settings.priceTargetNvme],
  );
  const perPiece = sum([endpoints, settings.priceTargetEndpoint], [ips, settings.priceTargetIp], ...gpus);
  return cpu * gibi + perGibi * milli + perPiece * milli * gibi;
}

function dearest(prices: NamedPrices): Decimal {
  return [...prices.values()].reduce(
    (most, price) => (compareDecimals(price, most) > 0 ? price : most),
    leastForUnknown,
  );
}
