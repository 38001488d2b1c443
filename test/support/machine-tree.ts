/** A machine's /sys and /proc as a tree of files in a folder of the test's own. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { discover } from "../../src/operators/inventory/discovery/discover.ts";
import type { Hardware } from "../../src/operators/inventory/hardware.ts";
import { temporaryFolder } from "./folder.ts";
import { createOwner, type Owner } from "./owner.ts";

/** By path: what a file says, where a link leads, or a folder where one would not expect it. */
export type MachineFiles = Readonly<Record<string, string | Buffer | { readonly link: string } | "a folder">>;

export function plantMachine(owner: Owner, files: MachineFiles): string {
  const root = temporaryFolder(owner);
  for (const [path, content] of Object.entries(files)) {
    const full = join(root, path);
    mkdirSync(content === "a folder" ? full : dirname(full), { recursive: true });
    if (typeof content === "object" && "link" in content) symlinkSync(content.link, full);
    else if (content !== "a folder") writeFileSync(full, content);
  }
  return root;
}

/** What discovery sees of such a machine. */
export async function discoverIn(files: MachineFiles): Promise<Hardware> {
  await using owner = createOwner();
  return await discover({ root: plantMachine(owner, files) });
}

export interface PlantedProcessor {
  readonly packageId?: number | string;
  readonly coreId?: number;
  readonly offline?: boolean;
  readonly facts: Readonly<Record<string, string>>;
}

export const xeon = { vendor_id: "GenuineIntel", "model name": "Intel(R) Xeon(R) Processor", flags: "fpu lm sse2" };
export const epyc = { vendor_id: "AuthenticAMD", "model name": "AMD EPYC 7763 64-Core Processor", flags: "fpu lm" };

export function processorFiles(processors: readonly PlantedProcessor[]): MachineFiles {
  const folders = processors.flatMap(({ packageId = 0, coreId, offline }, index) => [
    [`/sys/devices/system/cpu/cpu${index}/topology/physical_package_id`, `${packageId}\n`],
    [`/sys/devices/system/cpu/cpu${index}/topology/core_id`, `${coreId ?? index}\n`],
    [`/sys/devices/system/cpu/cpu${index}/online`, offline ? "0\n" : "1\n"],
  ]);
  const blocks = processors.flatMap(({ offline, facts }, index) => {
    const lines = Object.entries({ processor: `${index}`, ...facts }).map(([key, value]) => `${key}\t: ${value}\n`);
    return offline ? [] : [lines.join("")];
  });
  return { ...Object.fromEntries(folders), "/proc/cpuinfo": `${blocks.join("\n")}\n` };
}

export interface PlantedPci {
  /** "0x030200" */
  readonly class: string;
  /** "10de:2335" */
  readonly id: string;
  readonly subsystem?: string;
  readonly driver?: string;
  /** More files of the device's folder. */
  readonly more?: MachineFiles;
}

export function pciFiles(address: string, { class: code, id, subsystem, driver, more = {} }: PlantedPci): MachineFiles {
  const folder = `/sys/bus/pci/devices/${address}`;
  const [vendor, device] = id.split(":");
  const [subsystemVendor, subsystemDevice] = (subsystem ?? "0000:0000").split(":");
  return {
    [`${folder}/class`]: `${code}\n`,
    [`${folder}/vendor`]: `0x${vendor}\n`,
    [`${folder}/device`]: `0x${device}\n`,
    [`${folder}/subsystem_vendor`]: `0x${subsystemVendor}\n`,
    [`${folder}/subsystem_device`]: `0x${subsystemDevice}\n`,
    ...(driver ? { [`${folder}/driver`]: { link: `../../../../bus/pci/drivers/${driver}` } } : {}),
    ...Object.fromEntries(Object.entries(more).map(([path, content]) => [`${folder}/${path}`, content])),
  };
}

export interface PlantedNvidia {
  readonly version: string;
  /** By address, what the driver says about each GPU. */
  readonly cards: Readonly<Record<string, string>>;
}

export function nvidiaFiles({ version, cards }: PlantedNvidia): MachineFiles {
  const told = Object.entries(cards).map(([address, text]) => [
    `/proc/driver/nvidia/gpus/${address}/information`,
    text,
  ]);
  const line = `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${version}  Release Build  (builder@)\n`;
  return {
    ...Object.fromEntries(told),
    "/proc/driver/nvidia/version": `${line}GCC version:  gcc version 15.3.0 (GCC)\n`,
  };
}

/** What every machine has, so that a test about one part sees no problems of the others. */
export const ordinary: MachineFiles = {
  ...processorFiles([{ facts: xeon }]),
  "/proc/sys/kernel/arch": "x86_64\n",
  "/proc/meminfo": "MemTotal:       131980916 kB\nMemFree:        130719372 kB\n",
};
