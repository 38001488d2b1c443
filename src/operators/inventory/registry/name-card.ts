/** Gives a card its name in the market, or the line that would give it one. */
import type { GpuCard, NamedGpu } from "../inventory.ts";
import type { Registry } from "./registry.ts";
import { suggestDevice } from "./suggested-device.ts";

/** What the market calls the vendors, whatever a registry knows of them. */
const vendorNames: Readonly<Record<string, string>> = { "10de": "nvidia", "1002": "amd" };

export function nameCard(registry: Registry, card: GpuCard): NamedGpu {
  const known = registry.vendors.get(card.vendorId);
  const vendor = known?.name ?? vendorNames[card.vendorId] ?? card.vendorId;
  const device = known?.devices.get(card.deviceId);
  return device ? { ...card, vendor, ...device } : { ...card, vendor, registryLine: registryLineOf(card, vendor) };
}

/** A registry in the network's form with this card alone: a file of its own, or to be merged into a larger one. */
function registryLineOf(card: GpuCard, vendor: string): string {
  const { name, interface: kind, memorySize } = suggestDevice(card);
  const device = { name, interface: kind, ...(memorySize === undefined ? {} : { memory_size: memorySize }) };
  return JSON.stringify({ [card.vendorId]: { name: vendor, devices: { [card.deviceId]: device } } });
}
