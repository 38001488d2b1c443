/** Everything that a node has, read from its /sys and /proc. */
import { limits } from "../../../runtime/limits.ts";
import type { Hardware } from "../inventory.ts";
import { readArchitecture } from "./architecture.ts";
import { readDisks } from "./disks.ts";
import { isGpuCard, readGpuCards } from "./gpu-cards.ts";
import { readMemoryBytes, readPageSizes } from "./memory.ts";
import { readInterfaces } from "./network-interfaces.ts";
import { type PciDevice, readPciDevices } from "./pci-devices.ts";
import { type ProcessorPackage, readCpuinfo, readPackages } from "./processors.ts";
import { createTree, type Tree } from "./tree.ts";

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
  const packages = firstOf(await readPackages(tree, facts), "processors", tree);
  const pciDevices = await readPciDevices(tree);
  const pageSizes = await readPageSizes(tree);
  const hardware = {
    architecture: architecture ?? (await readArchitecture(tree, facts)),
    cpus: packages.map(({ id, vendor, model, processors }) => ({ id, vendor, model, vcores: processors.length })),
    memory: { totalBytes: await readMemoryBytes(tree) },
    gpus: await readGpuCards(tree, firstOf(pciDevices.filter(isGpuCard), "cards", tree)),
    disks: firstOf(await readDisks(tree), "disks", tree),
    interfaces: firstOf(await readInterfaces(tree), "interfaces", tree),
  };
  return { hardware: { ...hardware, problems: tree.problems() }, packages, pageSizes, pciDevices };
}

/** One strange node must not make the picture of a whole cluster too large to be sent. */
function firstOf<T>(parts: readonly T[], what: string, tree: Tree): readonly T[] {
  const most = limits.discoveryParts;
  if (parts.length <= most) return parts;
  tree.report(`${parts.length} ${what} were found, and only the first ${most} are told`);
  return parts.slice(0, most);
}
