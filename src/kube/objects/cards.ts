/** The GPUs of a replica: how many, whose, and which cards will do. */
import { type CardDemand, readCardDemands } from "../../market/gpu-attributes.ts";
import type { Attribute } from "../../market/group-spec.ts";
import type { ServiceWorkload } from "./service-workload.ts";

function gpuCount({ service }: ServiceWorkload): bigint {
  return BigInt(service.resources.gpu.units.val);
}

/**
 * The card that we offered. Where nobody knows our offer any more, those that the tenant would take: one of them is under
 * the workload that is running, and a card that it never asked for is not.
 */
export function cardsOf(workload: ServiceWorkload): readonly CardDemand[] {
  if (gpuCount(workload) === 0n) return [];
  const { service, offer } = workload;
  const offered = readable(offer?.gpu.attributes ?? []);
  return offered.length > 0 ? offered : readable(service.resources.gpu.attributes ?? []);
}

/** Nobody bids on what nobody can read. */
function readable(attributes: readonly Attribute[]): readonly CardDemand[] {
  const cards = readCardDemands(attributes);
  return typeof cards === "string" ? [] : cards;
}

export function gpuVendor(workload: ServiceWorkload): string | undefined {
  return cardsOf(workload)[0]?.vendor;
}

/** What the device plugin of the vendor calls its cards. */
export function gpuResources(workload: ServiceWorkload): Readonly<Record<string, string>> {
  const vendor = gpuVendor(workload);
  return vendor === undefined ? {} : { [`${vendor}.com/gpu`]: `${gpuCount(workload)}` };
}
