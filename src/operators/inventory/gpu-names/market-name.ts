/** Gives a card its name in the market, or the line that would give it one. */
import type { GpuCard } from "../hardware.ts";
import type { NamedGpu } from "../inventory.ts";
import type { Registry } from "./registry.ts";

/** What the market calls the vendors, whatever a registry knows of them. */
const vendorNames: Readonly<Record<string, string>> = { "10de": "nvidia", "1002": "amd" };

export function nameCard(registry: Registry, card: GpuCard): NamedGpu {
  const known = registry.vendors.get(card.vendorId);
  const vendor = known?.name ?? vendorNames[card.vendorId] ?? card.vendorId;
  const device = known?.devices.get(card.deviceId);
  return device ? { ...card, vendor, ...device } : { ...card, vendor, registryLine: registryLineOf(card, vendor) };
}

/** Words of a product's name that the market leaves out. */
const empty =
  /\b(nvidia|amd|ati|tesla|quadro|geforce|radeon|instinct|graphics|generation|pcie|hbm\w*|oam|sxm\d?|\d+ ?gb)\b/g;
/** Not more than makes a valid label together with the longest of its other parts. */
const longestName = 11;
const bytesPerGi = 1024 ** 3;

/**
 * A registry in the network's form with this card alone: a file of its own, or to be merged into a larger one. It is
 * guessed from what the driver calls the card, "NVIDIA A100-SXM4-80GB" is an a100 with SXM4 and 80Gi, and a person looks
 * at it before it is used.
 */
function registryLineOf({ vendorId, deviceId, driverModel = "", memoryBytes }: GpuCard, vendor: string): string {
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
