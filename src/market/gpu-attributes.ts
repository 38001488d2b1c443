/** Which GPUs satisfy a unit: `vendor/nvidia/model/a100/ram/80Gi/interface/sxm`, one attribute per model. */
import type { Attribute } from "./group-spec.ts";

export interface GpuDemand {
  readonly vendor: string;
  /** "*" for any that is not named with more. */
  readonly model: string;
  readonly memoryGi?: bigint;
  readonly interface?: string;
}

/** A GPU of a node. */
export interface Gpu {
  readonly vendor: string;
  readonly model: string;
  readonly memoryGi: bigint | undefined;
  readonly interface: string | undefined;
}

const vendors = ["nvidia", "amd"];
const interfaces = ["pcie", "sxm"];
const memorySuffixes = "KMGTPE";

/** A string is the error of an unreadable attribute. */
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
    else return `has an unknown part: ${name}/${value}`;
  }
  return demand;
}

/** Models among the GPUs that match. A wildcard never stands for a named model, and equal demands are one, to bound the search. */
export function modelsFor(demands: readonly GpuDemand[], gpus: readonly Gpu[]): GpuDemand[] {
  const models = new Map<string, GpuDemand>();
  for (const { vendor, model } of gpus) {
    const ofVendor = demands.filter((demand) => demand.vendor === vendor);
    const named = ofVendor.filter((demand) => demand.model === model);
    for (const demand of named.length > 0 ? named : ofVendor.filter((each) => each.model === "*")) {
      const narrowed = { ...demand, model };
      if (gpus.some((gpu) => gpuSatisfies(gpu, narrowed))) models.set(gpuAttribute(narrowed).key, narrowed);
    }
  }
  const byGpus = new Map<string, GpuDemand>();
  for (const [, demand] of [...models].sort(([left], [right]) => (left > right ? -1 : 1))) {
    byGpus.set(gpus.map((gpu) => Number(gpuSatisfies(gpu, demand))).join(""), demand);
  }
  return [...byGpus.values()].reverse();
}

/** Of a demand that names its model. */
export function gpuSatisfies(gpu: Gpu, { vendor, model, memoryGi, interface: kind }: GpuDemand): boolean {
  return (
    gpu.vendor === vendor &&
    gpu.model === model &&
    (memoryGi === undefined || memoryGi === gpu.memoryGi) &&
    (kind === undefined || kind === gpu.interface)
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

/** From the inventory's fields; "SXM5" is "sxm". Unreadable values are undefined. */
export function gpuOf(reported: { vendor: string; name: string; interface?: string; memorySize?: string }): Gpu {
  const kind = reported.interface?.toLowerCase();
  return {
    vendor: reported.vendor.toLowerCase(),
    model: reported.name,
    memoryGi: wholeGi(reported.memorySize ?? ""),
    interface: kind?.startsWith("sxm") ? "sxm" : kind || undefined,
  };
}

/** "81920Mi" and "80Gi" are the same memory; what is less than a whole Gi is left out. */
function wholeGi(text: string): bigint | undefined {
  const [, digits, suffix = ""] = /^(\d{1,9})([KMGTPE])i$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return (BigInt(digits) << BigInt(10 * (memorySuffixes.indexOf(suffix) + 1))) >> 30n;
}
