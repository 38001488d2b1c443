/** The sum of a price for each resource, exactly; GPUs by the model that is offered. */
import { inDenom, type PerDenom, showDecCoin } from "../../market/coin.ts";
import { type Decimal, decimalFromAtto, showDecimal } from "../../market/decimal.ts";
import { ephemeralClass, leasedAddressesOf, ramClass, storageOf, totalOf } from "../../market/group-totals.ts";
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

/** Memory and storage have a price per MiB, and an order may request a part of one. */
const mebi = 2n ** 20n;

export function createScale(settings: PriceSettings): Strategy {
  return { quote: (request) => quote(request, settings) };
}

class Unpriced extends Error {
  override readonly name = "Unpriced";
}

function quote(request: PriceRequest, settings: PriceSettings): Quote {
  const { denom } = request.most;
  try {
    const parts = partsOf(request, settings);
    const total = parts.reduce((sum, { inMebi, price }) => sum + inMebi * price.atto, 0n);
    // Rounded up at the 18th digit, so that nothing is sold below its price.
    const price = { denom, amount: decimalFromAtto((total + mebi - 1n) / mebi) };
    if (price.amount.atto === 0n) return no("the price would be zero: nothing that is requested has a price");
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
  /** The amount in 2⁻²⁰ths of what has the price. */
  readonly inMebi: bigint;
  readonly price: Decimal;
}

function partsOf({ group: { units }, offer, most: { denom } }: PriceRequest, settings: PriceSettings): Part[] {
  const of = <T>(prices: PerDenom<T>, setting: string): T => {
    const price = inDenom(prices, denom);
    if (price === undefined) throw new Unpriced(`${setting} has no price in ${denom}`);
    return price;
  };
  const memoryPrice = of(settings.bidPriceMemoryScale, "bid-price-memory-scale");
  const cpuPrice = of(settings.bidPriceCpuScale, "bid-price-cpu-scale");
  const endpointPrice = of(settings.bidPriceEndpointScale, "bid-price-endpoint-scale");
  const ipPrice = of(settings.bidPriceIpScale, "bid-price-ip-scale");
  const classes = of(settings.bidPriceStorageScale, "bid-price-storage-scale");
  const models = inDenom(settings.bidPriceGpuScale, denom) ?? new Map();
  const endpoints = BigInt(units.flatMap((unit) => unit.endpoints).length);
  const gpus = units.flatMap((unit, index): Part[] => {
    if (unit.gpu.count === 0n || unit.count === 0) return [];
    const name = gpuName(offer[index]?.gpu.attributes ?? unit.gpu.attributes);
    const inMebi = unit.gpu.count * BigInt(unit.count) * mebi;
    return [{ what: `gpu of unit ${unit.id}: ${name || "any"}`, inMebi, price: modelPrice(models, name) }];
  });
  return [
    { what: "cpu", inMebi: totalOf(units, (unit) => unit.cpu.milli) * mebi, price: cpuPrice },
    { what: "memory", inMebi: totalOf(units, (unit) => unit.memory.bytes), price: memoryPrice },
    { what: "endpoints", inMebi: endpoints * mebi, price: endpointPrice },
    { what: "ips", inMebi: BigInt(leasedAddressesOf(units)) * mebi, price: ipPrice },
    ...Array.from(storageOf(units), ([name, bytes]) => {
      return { what: `storage-${name}`, inMebi: bytes, price: classPrice(classes, name, memoryPrice) };
    }),
    ...gpus,
  ];
}

function classPrice(prices: NamedPrices, name: string, memoryPrice: Decimal): Decimal {
  const price = prices.get(name);
  if (price) return price;
  // A RAM volume takes memory of the node, so by default it costs the same.
  if (name === ramClass) return memoryPrice;
  if (name === ephemeralClass) return decimalFromAtto(0n);
  throw new Unpriced(`there is no price for storage of the class ${name}; set it in bid-price-storage-scale`);
}

/** No default: GPUs are the most expensive resource. */
function modelPrice(prices: NamedPrices, name: string): Decimal {
  const price = gpuPrice(name, prices) ?? prices.get("*");
  if (price) return price;
  throw new Unpriced(`there is no price for a gpu ${name || "of any model"}; set it in bid-price-gpu-scale`);
}

function amountOf(inMebi: bigint): Decimal {
  return decimalFromAtto((inMebi * 10n ** 18n) / mebi);
}
