/** What a price script is told on its standard input: one line of JSON, field by field as the network's scripts read it. */
import { formatDecimal } from "../../market/decimal.ts";
import type { ResourceUnit, UnitResources } from "../../market/group-spec.ts";
import { leasedAddressesOf, storageClassOf } from "../../market/group-totals.ts";
import { cardsByVendor } from "./gpu-price.ts";
import type { PriceRequest } from "./pricing.ts";

/** Digits after the point that a script should print. */
const pricePrecision = 6;

export function scriptInput({ group, offer, most }: PriceRequest): string {
  const resources = group.units.map((unit, index) => unitInput(unit, offer[index] ?? unit));
  const price = { denom: most.denom, amount: formatDecimal(most.amount) };
  return `${JSON.stringify({ resources, price, price_precision: pricePrecision })}\n`;
}

/** Amounts are far below 2⁵³: the network allows no order with more. */
function unitInput({ count, endpoints }: ResourceUnit, { cpu, memory, gpu, storage }: UnitResources) {
  const cards = [...cardsByVendor(gpu.attributes)].sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    memory: Number(memory.bytes),
    cpu: Number(cpu.milli),
    gpu: {
      units: Number(gpu.count),
      attributes: cards.length > 0 ? { vendor: Object.fromEntries(cards) } : {},
    },
    storage: storage.map((volume) => ({ class: storageClassOf(volume), size: Number(volume.bytes) })),
    count,
    endpoint_quantity: endpoints.length,
    ip_lease_quantity: leasedAddressesOf([{ endpoints }]),
  };
}
