/**
 * The graphics cards of a node, found by what they are on the PCI bus: a card without a driver, or whose driver makes no
 * DRM nodes, is there all the same.
 */
import { inParallel } from "../../../runtime/in-parallel.ts";
import { limits } from "../../../runtime/limits.ts";
import type { GpuCard } from "../inventory.ts";
import { readAmdFacts } from "./amd-driver.ts";
import { busFaultOf } from "./bus-health.ts";
import { computeCapabilityOf } from "./compute-capability.ts";
import type { DriverFacts } from "./driver-facts.ts";
import { readNvidiaFacts } from "./nvidia-driver.ts";
import { type PciDevice, pciPath } from "./pci-devices.ts";
import type { Tree } from "./tree.ts";

const nvidia = "10de";
const amd = "1002";

/** VGA, 3D and other display controllers. Their sound is a function of its own, of another class. */
const display = /^03/;
/** AMD's newer accelerators, from the MI200 on, show nothing and say so. */
const accelerator = /^1200/;

/** ATI chips that give a server's management controller its picture, as those of ASPEED and Matrox do. */
const managementPictures = ["4752", "474d", "474f", "515e", "5969"];

export function isGpuCard({ classCode, vendorId, deviceId, virtualFunction }: PciDevice): boolean {
  if (virtualFunction) return false;
  if (vendorId === nvidia) return display.test(classCode);
  return (
    vendorId === amd &&
    (display.test(classCode) || accelerator.test(classCode)) &&
    !managementPictures.includes(deviceId)
  );
}

export function readGpuCards(tree: Tree, cards: readonly PciDevice[]): Promise<GpuCard[]> {
  return inParallel(cards, limits.discoveryAtOnce, (device) => readCard(tree, device));
}

async function readCard(tree: Tree, device: PciDevice): Promise<GpuCard> {
  const { address, vendorId, deviceId, driver } = device;
  const computeCapability = vendorId === nvidia ? computeCapabilityOf(deviceId) : undefined;
  const fault = await busFaultOf(tree, device);
  const { health, ...told } = await readDriverFacts(tree, device);
  return {
    address,
    vendorId,
    deviceId,
    ...(driver === undefined ? {} : { driver }),
    ...(computeCapability === undefined ? {} : { computeCapability }),
    ...told,
    // What the bus says outweighs a driver that has not noticed yet.
    ...(fault !== undefined ? { health: { healthy: false, reason: fault } } : health ? { health } : {}),
  };
}

async function readDriverFacts(tree: Tree, { address, driver }: PciDevice): Promise<DriverFacts> {
  if (driver === "nvidia") return readNvidiaFacts(tree, address);
  if (driver === "amdgpu") return readAmdFacts(tree, pciPath(address));
  return {};
}
