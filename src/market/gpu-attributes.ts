/** Which cards will do for a unit: `vendor/nvidia/model/a100/ram/80Gi/interface/sxm`, one attribute per model. */
import type { Attribute } from "./group-spec.ts";

export interface GpuDemand {
  readonly vendor: string;
  /** "*" for any that is not named with more. */
  readonly model: string;
  readonly memoryGi?: bigint;
  readonly interface?: string;
}

/** What is known of a real card. */
export interface Gpu {
  readonly vendor: string;
  readonly model: string;
  readonly memoryGi: bigint | undefined;
  readonly interface: string | undefined;
}

const vendors = ["nvidia", "amd"];
const interfaces = ["pcie", "sxm"];
const memorySuffixes = "KMGTPE";

/** A sentence says which attribute nobody can read. */
export function readGpuDemands(attributes: readonly Attribute[]): GpuDemand[] | string {
  const demands: GpuDemand[] = [];
  for (const { key } of attributes) {
    const demand = readGpuDemand(key);
    if (typeof demand === "string") return `${JSON.stringify(key)} ${demand}`;
    demands.push(demand);
  }
  return demands;
}

function readGpuDemand(key: string): GpuDemand | string {
  const [vendorWord, vendor = "", modelWord, model = "", ...pairs] = key.split("/");
  if (vendorWord !== "vendor" || modelWord !== "model" || model === "") return "is not vendor/…/model/…";
  if (!vendors.includes(vendor)) return `names none of the vendors ${vendors.join(", ")}`;
  if (pairs.length % 2 !== 0) return "ends within a pair";
  let demand: GpuDemand = { vendor, model };
  for (let at = 0; at < pairs.length; at += 2) {
    const [name, value = ""] = pairs.slice(at, at + 2);
    const memoryGi = name === "ram" ? wholeGi(value) : undefined;
    if (memoryGi !== undefined) demand = { ...demand, memoryGi };
    else if (name === "interface" && interfaces.includes(value)) demand = { ...demand, interface: value };
    else return `has a part that nobody knows: ${name}/${value}`;
  }
  return demand;
}

/** Models among the GPUs that match. A wildcard never stands for a named model, and equal demands are one, to bound the search. */
export function modelsFor(demands: readonly GpuDemand[], cards: readonly Gpu[]): GpuDemand[] {
  const models = new Map<string, GpuDemand>();
  for (const { vendor, model } of cards) {
    const ofVendor = demands.filter((demand) => demand.vendor === vendor);
    const named = ofVendor.filter((demand) => demand.model === model);
    for (const demand of named.length > 0 ? named : ofVendor.filter((each) => each.model === "*")) {
      const narrowed = { ...demand, model };
      if (cards.some((card) => gpuSatisfies(card, narrowed))) models.set(gpuAttribute(narrowed).key, narrowed);
    }
  }
  const byCards = new Map<string, GpuDemand>();
  for (const [, demand] of [...models].sort(([left], [right]) => (left > right ? -1 : 1))) {
    byCards.set(cards.map((card) => Number(gpuSatisfies(card, demand))).join(""), demand);
  }
  return [...byCards.values()].reverse();
}

/** Of a demand that names its model. */
export function gpuSatisfies(card: Gpu, { vendor, model, memoryGi, interface: kind }: GpuDemand): boolean {
  return (
    card.vendor === vendor &&
    card.model === model &&
    (memoryGi === undefined || memoryGi === card.memoryGi) &&
    (kind === undefined || kind === card.interface)
  );
}

/** The one attribute that an offer has for it. */
export function gpuAttribute({ vendor, model, memoryGi, interface: kind }: GpuDemand): Attribute {
  const memory = memoryGi === undefined ? "" : `/ram/${memoryGi}Gi`;
  return { key: `vendor/${vendor}/model/${model}${memory}${kind ? `/interface/${kind}` : ""}`, value: "true" };
}

/** For people: "nvidia/a100 with 80Gi, pcie". */
export function describeGpu({ vendor, model, memoryGi, interface: kind }: GpuDemand | Gpu): string {
  const details = [memoryGi === undefined ? undefined : `${memoryGi}Gi`, kind].filter(Boolean).join(", ");
  return `${vendor}/${model}${details && ` with ${details}`}`;
}

/** A card as an inventory tells of it; "SXM5" is "sxm". What nobody can read is not known. */
export function gpuOf(told: { vendor: string; name: string; interface?: string; memorySize?: string }): Gpu {
  const kind = told.interface?.toLowerCase();
  return {
    vendor: told.vendor.toLowerCase(),
    model: told.name,
    memoryGi: wholeGi(told.memorySize ?? ""),
    interface: kind?.startsWith("sxm") ? "sxm" : kind || undefined,
  };
}

/** "81920Mi" and "80Gi" are the same memory; what is less than a whole Gi is left out. */
function wholeGi(text: string): bigint | undefined {
  const [, digits, suffix = ""] = /^(\d{1,9})([KMGTPE])i$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return (BigInt(digits) << BigInt(10 * (memorySuffixes.indexOf(suffix) + 1))) >> 30n;
}
