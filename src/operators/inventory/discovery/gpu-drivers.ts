/** What the kernel drivers tell about a card, without any tools of its vendor. */
import type { GpuCard } from "../hardware.ts";
import { plainName, type Tree } from "./tree.ts";

/** All that a driver may add to what the bus shows. */
export type DriverFacts = Partial<
  Pick<GpuCard, "driverVersion" | "driverModel" | "cudaVersion" | "uuid" | "memoryBytes" | "migInstances" | "health">
>;

export async function readNvidiaFacts(tree: Tree, address: string): Promise<DriverFacts> {
  const driverVersion = await readDriverVersion(tree);
  const cudaVersion = driverVersion && cudaVersionOf(driverVersion);
  const card = readInformation((await tree.text(`/proc/driver/nvidia/gpus/${address}/information`)) ?? "");
  const driverModel = card.get("Model");
  const uuid = card.get("GPU UUID");
  const excluded = card.get("GPU Excluded");
  const migInstances = await countMigInstances(tree, card.get("Device Minor") ?? "");
  return {
    ...(driverVersion ? { driverVersion } : {}),
    ...(cudaVersion ? { cudaVersion } : {}),
    ...(driverModel && driverModel !== "Unknown" ? { driverModel } : {}),
    // Question marks stand in for it until somebody has used the card.
    ...(uuid && /^GPU-[0-9a-f-]{36}$/i.test(uuid) ? { uuid } : {}),
    ...(migInstances > 0 ? { migInstances } : {}),
    // A card that is not excluded may be sick all the same: then nothing is said of its health.
    ...(excluded === "Yes" ? { health: { healthy: false, reason: "the driver excludes it" } } : {}),
  };
}

/** "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …" */
async function readDriverVersion(tree: Tree): Promise<string | undefined> {
  const version = /^\d{3,5}\.\d{1,5}(\.\d{1,5})?$/;
  const line = (await tree.text("/proc/driver/nvidia/version"))?.split("\n")[0] ?? "";
  const told = line.split(/\s+/).find((word) => version.test(word));
  const module = told ?? (await tree.text("/sys/module/nvidia/version"));
  return module && version.test(module) ? module : undefined;
}

/** The driver has a folder for each instance, which whoever may use it is let into. */
async function countMigInstances(tree: Tree, minor: string): Promise<number> {
  if (!/^\d{1,4}$/.test(minor)) return 0;
  const entries = await tree.names(`/proc/driver/nvidia/capabilities/gpu${minor}/mig`);
  return entries.filter((name) => /^gi\d+$/.test(name)).length;
}

function readInformation(text: string): Map<string, string> {
  const lines = text.split("\n").map((line) => /^([^:]+):\s*(.*)$/.exec(line));
  return new Map(lines.flatMap((parts) => (parts ? [[parts[1] ?? "", plainName(parts[2] ?? "")]] : [])));
}

/**
 * The CUDA version that a driver brings, which nvidia-smi shows. The kernel does not know it, but each branch of the
 * driver (the number before the first point) was made for one version and keeps it. A branch that is not here has none
 * rather than a wrong one.
 */
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

export async function readAmdFacts(tree: Tree, path: string): Promise<DriverFacts> {
  // Only the driver that AMD ships itself has a version of its own; the kernel's is as old as the kernel.
  const driverVersion = await tree.name("/sys/module/amdgpu/version");
  const driverModel = await tree.name(`${path}/product_name`);
  const uniqueId = await tree.name(`${path}/unique_id`);
  const memoryBytes = await tree.whole(`${path}/mem_info_vram_total`);
  const lostBits = await readUncorrectable(tree, path);
  return {
    ...(driverVersion ? { driverVersion } : {}),
    ...(driverModel ? { driverModel } : {}),
    ...(uniqueId && /^[0-9a-f]{16}$/i.test(uniqueId) ? { uuid: `GPU-${uniqueId.toLowerCase()}` } : {}),
    ...(memoryBytes ? { memoryBytes } : {}),
    ...(lostBits === undefined ? {} : { health: healthOf(lostBits) }),
  };
}

/** Errors in the card's memory that could not be corrected since the driver was loaded. */
async function readUncorrectable(tree: Tree, path: string): Promise<number | undefined> {
  const counts = /^ue:\s*(\d+)$/m.exec((await tree.text(`${path}/ras/umc_err_count`)) ?? "");
  return counts ? Number(counts[1]) : undefined;
}

function healthOf(lostBits: number): NonNullable<DriverFacts["health"]> {
  if (lostBits === 0) return { healthy: true };
  return { healthy: false, reason: `its memory had ${lostBits} errors that could not be corrected` };
}
