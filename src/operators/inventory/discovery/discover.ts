/** Everything that a node has, read from its /sys and /proc. */
import { inParallel } from "../../../runtime/in-parallel.ts";

import type { Disk, Hardware, NetworkInterface } from "../hardware.ts";
import { discoveryAtOnce, isGpu, readGpus, readPciDevices } from "./gpus.ts";

import { readArchitecture, readCpuinfo, readPackages } from "./processors.ts";
import { createTree, discoveryParts, plainName, readWhole, type Tree } from "./tree.ts";

export interface DiscoverOptions {
  /** Where the machine's /sys and /proc are: "/" on the machine itself, "/host" in a discovery pod. */
  readonly root?: string;
}

export async function discover({ root = "/" }: DiscoverOptions = {}): Promise<Hardware> {
  const tree = createTree(root);
  const facts = await readCpuinfo(tree);
  const hardware = {
    architecture: await readArchitecture(tree, facts),
    cpus: firstOf(await readPackages(tree, facts), "processors", tree),
    memory: { totalBytes: await readMemoryBytes(tree) },
    gpus: await readGpus(tree, firstOf((await readPciDevices(tree)).filter(isGpu), "GPUs", tree)),
    disks: firstOf(await readDisks(tree), "disks", tree),
    interfaces: firstOf(await readInterfaces(tree), "interfaces", tree),
  };
  return { ...hardware, problems: tree.problems() };
}

/** One strange node must not make the message of a whole cluster too large. */
function firstOf<T>(parts: T[], what: string, tree: Tree): T[] {
  const most = discoveryParts;
  if (parts.length <= most) return parts;
  tree.report(`${parts.length} ${what} were found, and only the first ${most} are reported`);
  return parts.slice(0, most);
}

const meminfo = "/proc/meminfo";

async function readMemoryBytes(tree: Tree): Promise<number> {
  const line = /^MemTotal:\s*(\d+) kB$/m.exec((await tree.text(meminfo)) ?? "");
  const bytes = readWhole(line?.[1] ?? "");
  if (bytes === undefined) tree.report(`${meminfo}: it has no MemTotal`);
  return (bytes ?? 0) * 1024;
}

/** Older kernels report this instead of -1. */
const unknownSpeed = 2 ** 32 - 1;

/** The interfaces with a device behind them, physical or a virtual machine's. */
export async function readInterfaces(tree: Tree): Promise<NetworkInterface[]> {
  const names = await tree.names("/sys/class/net");
  const found = await inParallel(names, discoveryAtOnce, (name) => readInterface(tree, name));
  return found.filter((each) => each !== undefined);
}

async function readInterface(tree: Tree, name: string): Promise<NetworkInterface | undefined> {
  const folder = `/sys/class/net/${name}`;
  if (!(await tree.has(`${folder}/device`))) return undefined;
  // An SR-IOV virtual function shares the port of its GPU.
  if (await tree.has(`${folder}/device/physfn`)) return undefined;
  const speedMbps = Number(await tree.text(`${folder}/speed`));
  const known = Number.isSafeInteger(speedMbps) && speedMbps > 0 && speedMbps < unknownSpeed;
  return { name: plainName(name), up: await isUp(tree, folder), ...(known ? { speedMbps } : {}) };
}

async function isUp(tree: Tree, folder: string): Promise<boolean> {
  const state = await tree.text(`${folder}/operstate`);
  // Some drivers do not report it; then the carrier does.
  return state === "up" || (state === "unknown" && (await tree.text(`${folder}/carrier`)) === "1");
}

/** Loop devices, memory, unions of disks, optical and floppy drives, network disks, and parts of a flash chip. */
const unreal = /^(loop|ram|zram|dm-|md|sr|fd|nbd|rbd|drbd|zd|bcache|mmcblk\d+(boot|rpmb|gp))/;

/** The unit of the size in sysfs, whatever the disk's own sectors are. */
const sectorBytes = 512;

export async function readDisks(tree: Tree): Promise<Disk[]> {
  const names = (await tree.names("/sys/block")).filter((name) => !unreal.test(name));
  const disks = await inParallel(names, discoveryAtOnce, (name) => readDisk(tree, name));
  return disks.filter((disk) => disk !== undefined);
}

async function readDisk(tree: Tree, name: string): Promise<Disk | undefined> {
  const folder = `/sys/block/${name}`;
  if (await isElsewhere(tree, name)) return undefined;
  const sizeBytes = ((await tree.whole(`${folder}/size`)) ?? 0) * sectorBytes;
  if (sizeBytes === 0 || !Number.isSafeInteger(sizeBytes)) return undefined;
  const rotational = await tree.text(`${folder}/queue/rotational`);
  const model = await tree.name(`${folder}/device/model`);
  const type = name.startsWith("nvme") ? "nvme" : rotational === "0" ? "ssd" : "hdd";
  return { name: plainName(name), type, sizeBytes, ...(model ? { model } : {}) };
}

/** Volumes attached over a network are counted by their storage system. */
async function isElsewhere(tree: Tree, name: string): Promise<boolean> {
  const folder = `/sys/block/${name}`;
  const device = (await tree.link(folder)) ?? "";
  // iSCSI has a session in the path.
  if (!name.startsWith("nvme")) return device.includes("/virtual/") || /\/session\d+\//.test(device);
  // The single paths of a multipath disk are hidden.
  return (await tree.text(`${folder}/hidden`)) === "1" || ((await readTransport(tree, folder)) ?? "pcie") !== "pcie";
}

/** A multipath disk has it at each of its paths. */
async function readTransport(tree: Tree, folder: string): Promise<string | undefined> {
  const own = await tree.text(`${folder}/device/transport`);
  if (own !== undefined) return own;
  const controller = (await tree.names(`${folder}/device`)).find((name) => /^nvme\d+$/.test(name));
  return controller && tree.text(`${folder}/device/${controller}/transport`);
}
