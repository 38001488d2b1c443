/** Everything that a node has, read from its /sys and /proc. */
import type { Hardware } from "../inventory.ts";
import { readArchitecture } from "./architecture.ts";
import { readDisks } from "./disks.ts";
import { readGpuCards } from "./gpu-cards.ts";
import { readMemoryBytes, readPageSizes } from "./memory.ts";
import { readInterfaces } from "./network-interfaces.ts";
import { type PciDevice, readPciDevices } from "./pci-devices.ts";
import { type ProcessorPackage, readCpuinfo, readPackages } from "./processors.ts";
import { createTree } from "./tree.ts";

export interface DiscoverOptions {
  /** Where the machine's /sys and /proc are: "/" on the machine itself, "/host" in a discovery pod. */
  readonly root?: string;
  /** As Kubernetes names it, where somebody knows better. */
  readonly architecture?: string;
}

/** The hardware, and what it was made of, for those who want to know more. */
export interface Survey {
  readonly hardware: Hardware;
  readonly packages: readonly ProcessorPackage[];
  readonly pageSizes: readonly number[];
  readonly pciDevices: readonly PciDevice[];
}

export async function discover(options: DiscoverOptions = {}): Promise<Hardware> {
  return (await survey(options)).hardware;
}

export async function survey({ root = "/", architecture }: DiscoverOptions): Promise<Survey> {
  const tree = createTree(root);
  const facts = await readCpuinfo(tree);
  const packages = await readPackages(tree, facts);
  const pciDevices = await readPciDevices(tree);
  const pageSizes = await readPageSizes(tree);
  const hardware = {
    architecture: architecture ?? (await readArchitecture(tree, facts)),
    cpus: packages.map(({ id, vendor, model, processors }) => ({ id, vendor, model, vcores: processors.length })),
    memory: { totalBytes: await readMemoryBytes(tree) },
    gpus: await readGpuCards(tree, pciDevices),
    disks: await readDisks(tree),
    interfaces: await readInterfaces(tree),
  };
  return { hardware: { ...hardware, problems: tree.problems() }, packages, pageSizes, pciDevices };
}
