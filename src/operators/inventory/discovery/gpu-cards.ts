/**
 * The graphics cards of a node, found by what they are on the PCI bus: a card without a driver, or whose driver makes no
 * DRM nodes, is there all the same.
 */
import { inParallel } from "../../../runtime/in-parallel.ts";
import type { GpuCard } from "../hardware.ts";
import { type DriverFacts, readAmdFacts, readNvidiaFacts } from "./gpu-drivers.ts";
import { discoveryAtOnce, type PciDevice, pciPath } from "./pci-devices.ts";
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
  return inParallel(cards, discoveryAtOnce, (device) => readCard(tree, device));
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

/** What the PCI bus knows about a card that has failed, whatever its driver says. */
async function busFaultOf(tree: Tree, { address, revision }: PciDevice): Promise<string | undefined> {
  // A card that is gone leaves the bus at rest, which reads as ones.
  const ids = await tree.head(`${pciPath(address)}/config`, 4);
  const silent = ids?.length === 4 && ids.every((byte) => byte === 0xff);
  if (silent || revision === "0xff") return "it no longer answers on the PCI bus";
  // After a fatal error a link is not to be relied on until the node was started again, and then the count is zero.
  const counts = (await tree.text(`${pciPath(address)}/aer_dev_fatal`)) ?? "";
  const fatal = Number(/^TOTAL_ERR_FATAL\s+(\d+)$/m.exec(counts)?.[1] ?? 0);
  return fatal > 0 ? `its PCI link had ${fatal} fatal errors since the node was started` : undefined;
}

/**
 * What the chip of an NVIDIA card can do, as CUDA counts it. NVIDIA gives out device ids in blocks, one for each chip,
 * so the id tells the chip. An id outside the blocks has none rather than a wrong one.
 */
const blocks: readonly (readonly [first: number, last: number, capability: string])[] = [
  [0x1340, 0x139f, "5.0"], // Maxwell: GM108, GM107
  [0x13c0, 0x143f, "5.2"], // GM204, GM206
  [0x17c0, 0x17ff, "5.2"], // GM200
  [0x15f0, 0x15ff, "6.0"], // Pascal: GP100
  [0x1b00, 0x1d7f, "6.1"], // GP102, GP104, GP106, GP107, GP108
  [0x1d80, 0x1dff, "7.0"], // Volta: GV100
  [0x1e00, 0x1fff, "7.5"], // Turing: TU102, TU104, TU106, TU117
  [0x2180, 0x21ff, "7.5"], // TU116
  [0x2080, 0x20ff, "8.0"], // Ampere: GA100
  [0x2200, 0x227f, "8.6"], // GA102
  [0x2400, 0x25ff, "8.6"], // GA103, GA104, GA106, GA107
  [0x2680, 0x28ff, "8.9"], // Ada: AD102, AD103, AD104, AD106, AD107
  [0x2300, 0x23ff, "9.0"], // Hopper: GH100
  [0x2900, 0x297f, "10.0"], // Blackwell: GB100
  [0x3180, 0x31ff, "10.3"], // GB110
  [0x2b80, 0x2dff, "12.0"], // GB202, GB203, GB206, GB207
  [0x2f00, 0x2f7f, "12.0"], // GB205
];

export function computeCapabilityOf(deviceId: string): string | undefined {
  const id = Number.parseInt(deviceId, 16);
  return blocks.find(([first, last]) => id >= first && id <= last)?.[2];
}
