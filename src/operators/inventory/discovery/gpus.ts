/** A node's GPUs, by PCI class: also those without a driver, or whose driver has no DRM nodes. */

import { basename } from "node:path";
import { inParallel } from "../../../runtime/in-parallel.ts";
import type { DiscoveredGpu } from "../hardware.ts";
import { plainName, type Tree } from "./tree.ts";

const nvidia = "10de";
const amd = "1002";

/** VGA, 3D and other display controllers; their audio function has another class. */
const display = /^03/;
/** "Processing accelerators": AMD from the MI200 on. */
const accelerator = /^1200/;

/** ATI graphics of server management controllers. */
const managementGraphics = ["4752", "474d", "474f", "515e", "5969"];

export function isGpu({ classCode, vendorId, deviceId, virtualFunction }: PciDevice): boolean {
  if (virtualFunction) return false;
  if (vendorId === nvidia) return display.test(classCode);
  return (
    vendorId === amd &&
    (display.test(classCode) || accelerator.test(classCode)) &&
    !managementGraphics.includes(deviceId)
  );
}

export function readGpus(tree: Tree, gpus: readonly PciDevice[]): Promise<DiscoveredGpu[]> {
  return inParallel(gpus, discoveryAtOnce, (device) => readGpu(tree, device));
}

async function readGpu(tree: Tree, device: PciDevice): Promise<DiscoveredGpu> {
  const { address, vendorId, deviceId, driver } = device;
  const computeCapability = vendorId === nvidia ? computeCapabilityOf(deviceId) : undefined;
  const fault = await busFaultOf(tree, device);
  const facts = await readDriverFacts(tree, device);
  return {
    address,
    vendorId,
    deviceId,
    ...(driver !== undefined && { driver }),
    ...(computeCapability !== undefined && { computeCapability }),
    ...facts,
    // Outweighs a driver that has not noticed yet.
    ...(fault !== undefined && { health: { healthy: false, reason: fault } }),
  };
}

async function readDriverFacts(tree: Tree, { address, driver }: PciDevice): Promise<DriverFacts> {
  if (driver === "nvidia") return readNvidiaFacts(tree, address);
  if (driver === "amdgpu") return readAmdFacts(tree, pciPath(address));
  return {};
}

/** What the PCI bus knows about a GPU that has failed, whatever its driver says. */
async function busFaultOf(tree: Tree, { address, revision }: PciDevice): Promise<string | undefined> {
  // A GPU that fell off the bus reads as ones.
  const ids = await tree.head(`${pciPath(address)}/config`, 4);
  const silent = ids?.length === 4 && ids.every((byte) => byte === 0xff);
  if (silent || revision === "0xff") return "it no longer responds on the PCI bus";
  // A link with a fatal error is unreliable until a reboot, which resets the count.
  const counts = (await tree.text(`${pciPath(address)}/aer_dev_fatal`)) ?? "";
  const fatal = Number(/^TOTAL_ERR_FATAL\s+(\d+)$/m.exec(counts)?.[1] ?? 0);
  return fatal > 0 ? `its PCI link had ${fatal} fatal errors since the node was started` : undefined;
}

/** CUDA compute capability by chip: NVIDIA assigns device ids in blocks. */
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

type DriverFacts = Omit<DiscoveredGpu, "address" | "vendorId" | "deviceId">;

async function readNvidiaFacts(tree: Tree, address: string): Promise<DriverFacts> {
  const driverVersion = await readDriverVersion(tree);
  const cudaVersion = driverVersion && cudaVersionOf(driverVersion);
  const gpu = readInformation((await tree.text(`/proc/driver/nvidia/gpus/${address}/information`)) ?? "");
  const driverModel = gpu.get("Model");
  const uuid = gpu.get("GPU UUID");
  const excluded = gpu.get("GPU Excluded");
  const migInstances = await countMigInstances(tree, gpu.get("Device Minor") ?? "");
  return {
    ...(driverVersion && { driverVersion }),
    ...(cudaVersion && { cudaVersion }),
    ...(driverModel && driverModel !== "Unknown" && { driverModel }),
    // Question marks until the GPU was first used.
    ...(uuid && /^GPU-[0-9a-f-]{36}$/i.test(uuid) && { uuid }),
    ...(migInstances > 0 && { migInstances }),
    // One that is not excluded may be unhealthy all the same.
    ...(excluded === "Yes" && { health: { healthy: false, reason: "the driver excludes it" } }),
  };
}

/** "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …" */
async function readDriverVersion(tree: Tree): Promise<string | undefined> {
  const version = /^\d{3,5}\.\d{1,5}(\.\d{1,5})?$/;
  const line = (await tree.text("/proc/driver/nvidia/version"))?.split("\n")[0] ?? "";
  const loaded = line.split(/\s+/).find((word) => version.test(word));
  const found = loaded ?? (await tree.text("/sys/module/nvidia/version"));
  return found && version.test(found) ? found : undefined;
}

/** The driver has a folder for each instance. */
async function countMigInstances(tree: Tree, minor: string): Promise<number> {
  if (!/^\d{1,4}$/.test(minor)) return 0;
  const entries = await tree.names(`/proc/driver/nvidia/capabilities/gpu${minor}/mig`);
  return entries.filter((name) => /^gi\d+$/.test(name)).length;
}

function readInformation(text: string): Map<string, string> {
  const lines = text.split("\n").map((line) => /^([^:]+):\s*(.*)$/.exec(line));
  return new Map(lines.flatMap((parts) => (parts ? [[parts[1] ?? "", plainName(parts[2] ?? "")]] : [])));
}

/** The CUDA version of each driver branch, as nvidia-smi shows it; the kernel does not report it. */
const byBranch: Readonly<Record<string, string>> = {
  595: "13.2",
  590: "13.1",
  580: "13.0",
  575: "12.9",
  570: "12.8",
  565: "12.7",
  560: "12.6",
  555: "12.5",
  550: "12.4",
  545: "12.3",
  535: "12.2",
  530: "12.1",
  525: "12.0",
  520: "11.8",
  515: "11.7",
  510: "11.6",
  495: "11.5",
  470: "11.4",
  465: "11.3",
  460: "11.2",
  455: "11.1",
  450: "11.0",
  440: "10.2",
  418: "10.1",
  410: "10.0",
};

function cudaVersionOf(driverVersion: string): string | undefined {
  return byBranch[driverVersion.split(".")[0] ?? ""];
}

async function readAmdFacts(tree: Tree, path: string): Promise<DriverFacts> {
  // Only AMD's own driver has a version; the kernel's has that of the kernel.
  const driverVersion = await tree.name("/sys/module/amdgpu/version");
  const driverModel = await tree.name(`${path}/product_name`);
  const uniqueId = await tree.name(`${path}/unique_id`);
  const memoryBytes = await tree.whole(`${path}/mem_info_vram_total`);
  const counts = (await tree.text(`${path}/ras/umc_err_count`)) ?? "";
  const [, errors] = /^ue:\s*(\d+)$/m.exec(counts) ?? [];
  const reason = `its memory had ${errors} errors that could not be corrected`;
  const health = Number(errors) === 0 ? { healthy: true } : { healthy: false, reason };
  return {
    ...(driverVersion && { driverVersion }),
    ...(driverModel && { driverModel }),
    ...(uniqueId && /^[0-9a-f]{16}$/i.test(uniqueId) && { uuid: `GPU-${uniqueId.toLowerCase()}` }),
    ...(memoryBytes && { memoryBytes }),
    ...(errors !== undefined && { health }),
  };
}

/** Files read at once: Node has four threads for them. */
export const discoveryAtOnce = 8;

export type PciDevice = NonNullable<Awaited<ReturnType<typeof readDevice>>>;

const folder = "/sys/bus/pci/devices";
const addressForm = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i;

function pciPath(at: string): string {
  return `${folder}/${at}`;
}

export async function readPciDevices(tree: Tree): Promise<PciDevice[]> {
  // Hex digits have their own order.
  const inOrder = (await tree.names(folder)).filter((name) => addressForm.test(name)).sort();
  const devices = await inParallel(inOrder, discoveryAtOnce, (name) => readDevice(tree, name));
  return devices.filter((device) => device !== undefined);
}

async function readDevice(tree: Tree, address: string) {
  const path = pciPath(address);
  const classCode = await readHex(tree, `${path}/class`, 6);
  const vendorId = await readHex(tree, `${path}/vendor`, 4);
  const deviceId = await readHex(tree, `${path}/device`, 4);
  if (classCode === undefined || vendorId === undefined || deviceId === undefined) {
    tree.report(`${path}: its class, vendor or device cannot be read`);
    return undefined;
  }
  const driver = await tree.link(`${path}/driver`);
  return {
    /** "0000:00:06.0" */
    address,
    /** Class, subclass and programming interface: six lower-case hex digits. */
    classCode,
    /** Four lower-case hex digits each. */
    vendorId,
    deviceId,
    /** "0xa1" */
    revision: `0x${(await readHex(tree, `${path}/revision`, 2)) ?? "00"}`,
    ...(driver !== undefined && { driver: plainName(basename(driver)) }),
    /** SR-IOV: a part of another GPU for virtual machines. */
    virtualFunction: await tree.has(`${path}/physfn`),
  };
}

async function readHex(tree: Tree, path: string, digits: number): Promise<string | undefined> {
  const text = (await tree.text(path))?.toLowerCase().replace(/^0x/, "");
  return text?.length === digits && /^[0-9a-f]+$/.test(text) ? text : undefined;
}
