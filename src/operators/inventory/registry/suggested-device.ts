/**
 * How the registry might describe a card that it does not know, from what the driver calls it: "NVIDIA A100-SXM4-80GB"
 * is an a100 with SXM4 and 80Gi. A person looks at it before it is used.
 */
import type { GpuCard } from "../inventory.ts";
import type { RegistryDevice } from "./registry.ts";

/** Words of a product's name that the market leaves out. */
const empty =
  /\b(nvidia|amd|ati|tesla|quadro|geforce|radeon|instinct|graphics|generation|pcie|hbm\w*|oam|sxm\d?|\d+ ?gb)\b/g;
/** Not more than makes a valid label together with the longest of its other parts. */
const longestName = 11;
const bytesPerGi = 1024 ** 3;

export function suggestDevice({ deviceId, driverModel = "", memoryBytes }: GpuCard): RegistryDevice {
  const told = driverModel.toLowerCase();
  const name = told
    .replace(empty, "")
    .replace(/[^a-z0-9]/g, "")
    .slice(0, longestName);
  const gigabytes = /\b(\d{1,4}) ?gb\b/.exec(told)?.[1] ?? (Math.round((memoryBytes ?? 0) / bytesPerGi) || undefined);
  return {
    name: name || `gpu${deviceId}`,
    interface: /\b(sxm\d?|oam)\b/.exec(told)?.[1]?.toUpperCase() ?? "PCIe",
    ...(gigabytes === undefined ? {} : { memorySize: `${gigabytes}Gi` }),
  };
}
