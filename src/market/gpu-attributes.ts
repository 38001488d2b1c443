/** Which cards will do for a unit: `vendor/nvidia/model/a100/ram/80Gi/interface/sxm`, one attribute per model. */
import type { Attribute } from "./group-spec.ts";
import { parseBytes } from "./quantity.ts";

export interface CardDemand {
  readonly vendor: string;
  /** "*" for any that is not named with more. */
  readonly model: string;
  readonly memoryGi?: bigint;
  readonly interface?: string;
}

/** What is known of a real card. */
export interface Card {
  readonly vendor: string;
  readonly model: string;
  readonly memoryGi: bigint | undefined;
  readonly interface: string | undefined;
}

const vendors = ["nvidia", "amd"];
const interfaces = ["pcie", "sxm"];
const gibi = 2n ** 30n;

/** A sentence says which attribute nobody can read. */
export function readCardDemands(attributes: readonly Attribute[]): CardDemand[] | string {
  const demands: CardDemand[] = [];
  for (const { key } of attributes) {
    const demand = readCardDemand(key);
    if (typeof demand === "string") return `${JSON.stringify(key)} ${demand}`;
    demands.push(demand);
  }
  return demands;
}

function readCardDemand(key: string): CardDemand | string {
  const [vendorWord, vendor = "", modelWord, model = "", ...pairs] = key.split("/");
  if (vendorWord !== "vendor" || modelWord !== "model" || model === "") return "is not vendor/…/model/…";
  if (!vendors.includes(vendor)) return `names none of the vendors ${vendors.join(", ")}`;
  if (pairs.length % 2 !== 0) return "ends within a pair";
  let demand: CardDemand = { vendor, model };
  for (let at = 0; at < pairs.length; at += 2) {
    const [name, value = ""] = pairs.slice(at, at + 2);
    if (name === "ram" && /^\d{1,12}[KMGTPE]i$/.test(value)) demand = { ...demand, memoryGi: parseBytes(value) / gibi };
    else if (name === "interface" && interfaces.includes(value)) demand = { ...demand, interface: value };
    else return `has a part that nobody knows: ${name}/${value}`;
  }
  return demand;
}

/** A demand for the very model goes before one for any. */
export function demandFor(card: Card, demands: readonly CardDemand[]): CardDemand | undefined {
  const ofVendor = demands.filter(({ vendor }) => vendor === card.vendor);
  const demand = ofVendor.find(({ model }) => model === card.model) ?? ofVendor.find(({ model }) => model === "*");
  if (demand?.memoryGi !== undefined && demand.memoryGi !== card.memoryGi) return undefined;
  if (demand?.interface !== undefined && demand.interface !== card.interface) return undefined;
  return demand;
}
