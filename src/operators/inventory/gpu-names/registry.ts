/** The market's names of GPUs, by PCI vendor and device id. */
import type { DiscoveredGpu } from "../hardware.ts";
import type { NamedGpu } from "../inventory.ts";
import type { Registry } from "./parse-registry.ts";

/** `over` outweighs `base`. */
export function mergeRegistries(base: Registry, over: Registry): Registry {
  const vendors = new Map(base.vendors);
  for (const [id, { name, devices }] of over.vendors) {
    vendors.set(id, { name, devices: new Map([...(base.vendors.get(id)?.devices ?? []), ...devices]) });
  }
  return { vendors, problems: over.problems };
}

/** "SXM5" is "sxm", as node labels and tenants write it. */
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

/** Words of a product name that the market omits. */
const omitted =
  /\b(nvidia|amd|ati|tesla|quadro|geforce|radeon|instinct|graphics|generation|pcie|hbm\w*|oam|sxm\d?|\d+ ?gb)\b/g;
/** So that the label with its other parts stays valid. */
const longestName = 11;
const bytesPerGi = 1024 ** 3;

/** A registry of this GPU alone, guessed from the driver's model: "NVIDIA A100-SXM4-80GB" is an a100, SXM4, 80Gi. */
function registryLineOf({ vendorId, deviceId, driverModel = "", memoryBytes }: DiscoveredGpu, vendor: string): string {
  const product = driverModel.toLowerCase();
  const name = product
    .replace(omitted, "")
    .replace(/[^a-z0-9]/g, "")
    .slice(0, longestName);
  const gigabytes =
    /\b(\d{1,4}) ?gb\b/.exec(product)?.[1] ?? (Math.round((memoryBytes ?? 0) / bytesPerGi) || undefined);
  const device = {
    name: name || `gpu${deviceId}`,
    interface: /\b(sxm\d?|oam)\b/.exec(product)?.[1]?.toUpperCase() ?? "PCIe",
    ...(gigabytes === undefined ? {} : { memory_size: `${gigabytes}Gi` }),
  };
  return JSON.stringify({ [vendorId]: { name: vendor, devices: { [deviceId]: device } } });
}
