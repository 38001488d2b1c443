/** Adds up a price for each thing that is asked for, exactly; what is offered differs only in naming one gpu model. */
import { inDenom, type PerDenom, showDecCoin } from "../../market/coin.ts";
import { type Decimal, decimalFromAtto, showDecimal } from "../../market/decimal.ts";
import { ephemeralClass, leasedAddressesOf, ramClass, storageOf, totalOf } from "../../market/group-totals.ts";
import {
  gpuName,
  gpuPrice,
  type NamedPrices,
  no,
  type PriceRequest,
  type Quote,
  type ScaleSettings,
  type Strategy,
} from "./pricing.ts";

/** Memory and storage have a price per MiB, and an order may ask for a part of one. */
const mebi = 2n ** 20n;

export function createScale(settings: ScaleSettings): Strategy {
  return { quote: (request) => quote(request, settings) };
}

class Unpriced extends Error {
  override readonly name = "Unpriced";
}

function quote(request: PriceRequest, settings: ScaleSettings): Quote {
  const { denom } = request.most;
  try {
    const parts = partsOf(request, settings);
    const total = parts.reduce((sum, { inMebi, price }) => sum + inMebi * price.atto, 0n);
    // What does not fit into 18 digits counts as a whole one, so that nothing is ever asked for less than its price.
    const price = { denom, amount: decimalFromAtto((total + mebi - 1n) / mebi) };
    if (price.amount.atto === 0n) return no("the price would be zero: nothing that is asked for has a price");
    const evidence = parts
      .filter(({ inMebi }) => inMebi > 0n)
      .map(({ what, inMebi, price }) => [what, `${showDecimal(amountOf(inMebi))} × ${showDecimal(price)}`]);
    return { price, evidence: { strategy: "scale", total: showDecCoin(price), ...Object.fromEntries(evidence) } };
  } catch (thrown) {
    if (thrown instanceof Unpriced) return no(thrown.message, { strategy: "scale", denom });
    throw thrown;
  }
}

interface Part {
  readonly what: string;
  /** How much of it, in 2⁻²⁰ths of what has the price. */
  readonly inMebi: bigint;
  readonly price: Decimal;
}

function partsOf({ group, offer, most: { denom } }: PriceRequest, settings: ScaleSettings): Part[] {
  const { units } = group;
  const of = <T>(prices: PerDenom<T>, setting: string): T => {
    const price = inDenom(prices, denom);
    if (price === undefined) throw new Unpriced(`${setting} has no price in ${denom}`);
    return price;
  };
  const memoryPrice = of(settings.bidPriceMemoryScale, "bid-price-memory-scale");
  const endpoints = units.reduce((sum, unit) => sum + unit.endpoints.length, 0);
  const cpu = totalOf(units, (unit) => unit.cpu.milli);
  const memory = totalOf(units, (unit) => unit.memory.bytes);
  const parts: Part[] = [
    { what: "cpu", inMebi: cpu * mebi, price: of(settings.bidPriceCpuScale, "bid-price-cpu-scale") },
    { what: "memory", inMebi: memory, price: memoryPrice },
    {
      what: "endpoints",
      inMebi: BigInt(endpoints) * mebi,
      price: of(settings.bidPriceEndpointScale, "bid-price-endpoint-scale"),
    },
    {
      what: "ips",
      inMebi: BigInt(leasedAddressesOf(units)) * mebi,
      price: of(settings.bidPriceIpScale, "bid-price-ip-scale"),
    },
  ];
  const classes = of(settings.bidPriceStorageScale, "bid-price-storage-scale");
  for (const [name, bytes] of storageOf(units)) {
    parts.push({ what: `storage-${name}`, inMebi: bytes, price: classPrice(classes, name, memoryPrice) });
  }
  const models = inDenom(settings.bidPriceGpuScale, denom) ?? new Map();
  for (const [index, unit] of units.entries()) {
    if (unit.gpu.count === 0n || unit.count === 0) continue;
    const name = gpuName(offer[index]?.gpu.attributes ?? unit.gpu.attributes);
    const inMebi = unit.gpu.count * BigInt(unit.count) * mebi;
    parts.push({ what: `gpu of unit ${unit.id}: ${name || "any"}`, inMebi, price: modelPrice(models, name) });
  }
  return parts;
}

function classPrice(prices: NamedPrices, name: string, memoryPrice: Decimal): Decimal {
  const price = prices.get(name);
  if (price) return price;
  // It takes memory away from everybody else, so by default it costs the same.
  if (name === ramClass) return memoryPrice;
  if (name === ephemeralClass) return decimalFromAtto(0n);
  throw new Unpriced(`there is no price for storage of the class ${name}; set it in bid-price-storage-scale`);
}

/** Without one the dearest thing that a provider has would be given away. */
function modelPrice(prices: NamedPrices, name: string): Decimal {
  const price = gpuPrice(name, prices) ?? prices.get("*");
  if (price) return price;
  throw new Unpriced(`there is no price for a gpu ${name || "of any model"}; set it in bid-price-gpu-scale`);
}

function amountOf(inMebi: bigint): Decimal {
  return decimalFromAtto((inMebi * 10n ** 18n) / mebi);
}
