/** What NVIDIA's kernel driver tells about a card without any of its tools. */
import { cudaVersionOf } from "./cuda-versions.ts";
import type { DriverFacts } from "./driver-facts.ts";
import { plainName, type Tree } from "./tree.ts";

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
