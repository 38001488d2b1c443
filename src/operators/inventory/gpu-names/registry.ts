/** Which GPU a pair of PCI ids is: the market's names, by vendor and device. */
import type { DiscoveredGpu } from "../hardware.ts";
import type { MarketName, NamedGpu } from "../inventory.ts";

export interface RegistryVendor {
  readonly name: string;
  /** By device id, four lower-case hex digits. */
  readonly devices: ReadonlyMap<string, MarketName>;
}

export interface Registry {
  readonly vendors: ReadonlyMap<string, RegistryVendor>;
  /** Entries that made no sense and were left out, and why. */
  readonly problems: readonly string[];
}

/** Where both know a GPU, the second has the say. */
export function mergeRegistries(base: Registry, over: Registry): Registry {
  const vendors = new Map(base.vendors);
  for (const [id, { name, devices }] of over.vendors) {
    vendors.set(id, { name, devices: new Map([...(base.vendors.get(id)?.devices ?? []), ...devices]) });
  }
  return { vendors, problems: over.problems };
}

/** "SXM5" is "sxm", as node labels and tenants write it: a GPU is on a socket or in a slot, whatever its generation. */
export function interfaceKind(text: string): string {
  const kind = text.toLowerCase();
  return kind.startsWith("sxm") ? "sxm" : kind;
}

const vendorNames: Readonly<Record<string, string>> = { "10de": "nvidia", "1002": "amd" };

export function nameGpu(registry: Registry, gpu: DiscoveredGpu): NamedGpu {
  const known = registry.vendors.get(gpu.vendorId);
  const vendor = known?.name ?? vendorNames[gpu.vendorId] ?? gpu.vendorId;
  const device = known?.devices.get(gpu.deviceId);
  return device ? { ...gpu, vendor, ...device } : { ...gpu, vendor, registryLine: registryLineOf(gpu, vendor) };
}

/** Words of a product's name that the market leaves out. */
const empty =
  /\b(nvidia|amd|ati|tesla|quadro|geforce|radeon|instinct|graphics|generation|pcie|hbm\w*|oam|sxm\d?|\d+ ?gb)\b/g;
/** Not more than makes a valid label together with the longest of its other parts. */
const longestName = 11;
const bytesPerGi = 1024 ** 3;

/**
 * A registry of this GPU alone, guessed from the driver's model: "NVIDIA A100-SXM4-80GB" is an a100, SXM4, 80Gi. A
 * person reviews it before use.
 */
function registryLineOf({ vendorId, deviceId, driverModel = "", memoryBytes }: DiscoveredGpu, vendor: string): string {
  const told = driverModel.toLowerCase();
  const name = told
    .replace(empty, "")
    .replace(/[^a-z0-9]/g, "")
    .slice(0, longestName);
  const gigabytes = /\b(\d{1,4}) ?gb\b/.exec(told)?.[1] ?? (Math.round((memoryBytes ?? 0) / bytesPerGi) || undefined);
  const device = {
    name: name || `gpu${deviceId}`,
    interface: /\b(sxm\d?|oam)\b/.exec(told)?.[1]?.toUpperCase() ?? "PCIe",
    ...(gigabytes === undefined ? {} : { memory_size: `${gigabytes}Gi` }),
  };
  return JSON.stringify({ [vendorId]: { name: vendor, devices: { [deviceId]: device } } });
}

const nvidiaGpus = `
  a10 PCIe/24Gi=2236
  a100 PCIe/40Gi=20b1,20f1 PCIe/80Gi=20b5 SXM/64Gi=20b3 SXM4/40Gi=20b0 SXM4/80Gi=147f,20b2
  a30 PCIe/24Gi=20b7
  a40 PCIe/48Gi=2235
  a5000 PCIe/24Gi=2231
  a800 SXM4/80Gi=20f3
  gt1030 PCIe/2Gi=1d01
  gtx1050 PCIe/2Gi=1c81 PCIe/3Gi=1c83
  gtx1050ti PCIe/4Gi=1c82
  gtx1060 PCIe/3Gi=1c02 PCIe/5Gi=1c04 PCIe/6Gi=1c03,1c06
  gtx1070 PCIe/8Gi=1b81
  gtx1070ti PCIe/8Gi=1b82
  gtx1080 PCIe/8Gi=1b80
  gtx1080ti PCIe/11Gi=1b06
  gtx1650s PCIe/4Gi=2187
  gtx1650ti PCIe/4Gi=1f95
  gtx1660 PCIe/6Gi=2184
  gtx1660ti PCIe/6Gi=2182
  gtx960 PCIe/2Gi=1401 PCIe/4Gi=1406
  gtx970 PCIe/4Gi=13c2
  gtx980 PCIe/4Gi=13c0
  gtx980ti PCIe/6Gi=17c8
  h100 PCIe/80Gi=2331 SXM5/80Gi=2330
  h200 SXM5/141Gi=2335
  h200nvl PCIe/141Gi=233b
  l4 PCIe/24Gi=27b8
  l40 PCIe/48Gi=26b5
  l40s PCIe/48Gi=26b9
  m4000 PCIe/8Gi=13f1
  mx150 PCIe/2Gi=1d10
  p100 PCIe/12Gi=15f7 PCIe/16Gi=15f8 SXM2/16Gi=15f9
  p2000 PCIe/4Gi=1cba PCIe/5Gi=1c30
  p4 PCIe/8Gi=1bb3
  p40 PCIe/24Gi=1b38
  p4000 PCIe/8Gi=1bb1
  p5000 PCIe/16Gi=1bb0
  p6000 PCIe/24Gi=1b30
  pro6000mq PCIe/96Gi=2bb4
  pro6000se PCIe/96Gi=2bb5
  pro6000we PCIe/96Gi=2bb1
  rtx2000eada PCIe/16Gi=28b0
  rtx2060 PCIe/6Gi=1e89
  rtx2060s PCIe/8Gi=1f06
  rtx2070 PCIe/8Gi=1f02
  rtx2070s PCIe/8Gi=1e84
  rtx2080 PCIe/8Gi=1e87
  rtx2080s PCIe/8Gi=1e81
  rtx2080ti PCIe/11Gi=1e04,1e07
  rtx3060 PCIe/12Gi=2487,2503,2504
  rtx3060m PCIe/6Gi=2520,2560
  rtx3060ti PCIe/8Gi=2486,2489
  rtx3070 PCIe/8Gi=2484,2488
  rtx3070ti PCIe/8Gi=2482
  rtx3080 PCIe/10Gi=2206,2216 PCIe/12Gi=220a
  rtx3080ti PCIe/12Gi=2208
  rtx3090 PCIe/24Gi=2204
  rtx3090ti PCIe/24Gi=2203
  rtx4000 PCIe/8Gi=1eb1
  rtx4000ada PCIe/20Gi=27b2
  rtx4000sada PCIe/20Gi=27b0
  rtx4060 PCIe/8Gi=2882
  rtx4060ti PCIe/16Gi=2803,2805
  rtx4070 PCIe/12Gi=2786
  rtx4070s PCIe/12Gi=2783
  rtx4070ti PCIe/12Gi=2782
  rtx4080 PCIe/16Gi=2704
  rtx4080s PCIe/16Gi=2702
  rtx4090 PCIe/24Gi=2684,f297
  rtx5000 PCIe/16Gi=1eb5
  rtx5000ada PCIe/32Gi=26b2
  rtx5070 PCIe/12Gi=2f04
  rtx5070ti PCIe/16Gi=2c05
  rtx5080 PCIe/16Gi=2c02
  rtx5090 PCIe/32Gi=2b85
  rtx5090m PCIe/24Gi=2c58
  rtx6000 PCIe/24Gi=1e30
  rtx6000ada PCIe/48Gi=26b1
  rtx8000 PCIe/48Gi=1e78
  rtxa2000 PCIe/6Gi=2531
  rtxa6000 PCIe/48Gi=2230
  t4 PCIe/16Gi=1eb8
  v100 PCIe/16Gi=1db4 PCIe/32Gi=1db6,1df0 SXM2/16Gi=1db1 SXM2/32Gi=1db5 SXM3/32Gi=1db8
`;

const amdGpus = `
  mi100 PCIe/32Gi=738c
  mi210 PCIe/64Gi=740f
  mi300x OAM/192Gi=74a1
  mi60 PCIe/32Gi=66a1
`;

export const builtInRegistry: Registry = {
  vendors: new Map([
    ["10de", { name: "nvidia", devices: readTable(nvidiaGpus) }],
    ["1002", { name: "amd", devices: readTable(amdGpus) }],
  ]),
  problems: [],
};

function readTable(table: string): Map<string, MarketName> {
  const devices = new Map<string, MarketName>();
  for (const line of table.trim().split("\n")) {
    const [name = "", ...variants] = line.trim().split(" ");
    for (const variant of variants) {
      const [form = "", ids = ""] = variant.split("=");
      const [kind = "", memorySize = ""] = form.split("/");
      for (const id of ids.split(",")) devices.set(id, { name, interface: kind, memorySize });
    }
  }
  return devices;
}
