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

export async function discover(options: DiscoverOptions = {}): Promise<Hardware> {
  return (await survey(options)).hardware;
}

export type Survey = Awaited<ReturnType<typeof survey>>;

export async function survey({ root = "/" }: DiscoverOptions) {
  const tree = createTree(root);
  const facts = await readCpuinfo(tree);
  const packages = firstOf(await readPackages(tree, facts), "processors", tree);
  const pciDevices = await readPciDevices(tree);
  const pageSizes = await readPageSizes(tree);
  const hardware: Omit<Hardware, "problems"> = {
    architecture: await readArchitecture(tree, facts),
    cpus: packages.map(({ id, vendor, model, processors }) => ({ id, vendor, model, vcores: processors.length })),
    memory: { totalBytes: await readMemoryBytes(tree) },
    gpus: await readGpus(tree, firstOf(pciDevices.filter(isGpu), "cards", tree)),
    disks: firstOf(await readDisks(tree), "disks", tree),
    interfaces: firstOf(await readInterfaces(tree), "interfaces", tree),
  };
  return { hardware: { ...hardware, problems: tree.problems() }, packages, pageSizes, pciDevices };
}

/** One strange node must not make the picture of a whole cluster too large to be sent. */
function firstOf<T>(parts: T[], what: string, tree: Tree): T[] {
  const most = discoveryParts;
  if (parts.length <= most) return parts;
  tree.report(`${parts.length} ${what} were found, and only the first ${most} are told`);
  return parts.slice(0, most);
}

const meminfo = "/proc/meminfo";

/** What the kernel has to give away; zero where it does not say. */
async function readMemoryBytes(tree: Tree): Promise<number> {
  const line = /^MemTotal:\s*(\d+) kB$/m.exec((await tree.text(meminfo)) ?? "");
  const bytes = readWhole(line?.[1] ?? "");
  if (bytes === undefined) tree.report(`${meminfo}: it does not tell MemTotal`);
  return (bytes ?? 0) * 1024;
}

async function readPageSizes(tree: Tree): Promise<number[]> {
  const huge = (await tree.names("/sys/kernel/mm/hugepages")).flatMap(
    (name) => readWhole(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? "") ?? [],
  );
  return [4, ...huge].map((kilobytes) => kilobytes * 1024);
}

/** What older kernels say instead of -1 when they do not know. */
const unknownSpeed = 2 ** 32 - 1;

/** The interfaces that lead out of the node: those with a device behind them, be it a card or a virtual machine's. */
export async function readInterfaces(tree: Tree): Promise<NetworkInterface[]> {
  const names = await tree.names("/sys/class/net");
  const found = await inParallel(names, discoveryAtOnce, (name) => readInterface(tree, name));
  return found.filter((each) => each !== undefined);
}

async function readInterface(tree: Tree, name: string): Promise<NetworkInterface | undefined> {
  const folder = `/sys/class/net/${name}`;
  if (!(await tree.has(`${folder}/device`))) return undefined;
  // Parts of a card that are handed to pods or virtual machines share its port.
  if (await tree.has(`${folder}/device/physfn`)) return undefined;
  const speedMbps = Number(await tree.text(`${folder}/speed`));
  const known = Number.isSafeInteger(speedMbps) && speedMbps > 0 && speedMbps < unknownSpeed;
  return { name: plainName(name), up: await isUp(tree, folder), ...(known ? { speedMbps } : {}) };
}

async function isUp(tree: Tree, folder: string): Promise<boolean> {
  const state = await tree.text(`${folder}/operstate`);
  // Some drivers never say; then the wire does.
  return state === "up" || (state === "unknown" && (await tree.text(`${folder}/carrier`)) === "1");
}

/** Files, memory, unions of disks, optical and floppy drives, disks of other machines, and parts of a flash chip. */
const unreal = /^(loop|ram|zram|dm-|md|sr|fd|nbd|rbd|drbd|zd|bcache|mmcblk\d+(boot|rpmb|gp))/;

/** Linux counts sectors of this size whatever the disk's own are. */
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

/** A volume that a storage system attached over a network is counted there. */
async function isElsewhere(tree: Tree, name: string): Promise<boolean> {
  const folder = `/sys/block/${name}`;
  const place = (await tree.link(folder)) ?? "";
  // Of iSCSI, there is a session in the place.
  if (!name.startsWith("nvme")) return place.includes("/virtual/") || /\/session\d+\//.test(place);
  // The single ways to a disk with several of them are hidden behind the disk itself.
  return (await tree.text(`${folder}/hidden`)) === "1" || ((await readTransport(tree, folder)) ?? "pcie") !== "pcie";
}

/** Of a disk with several ways to it, each of these tells. */
async function readTransport(tree: Tree, folder: string): Promise<string | undefined> {
  const own = await tree.text(`${folder}/device/transport`);
  if (own !== undefined) return own;
  const way = (await tree.names(`${folder}/device`)).find((name) => /^nvme\d+$/.test(name));
  return way && tree.text(`${folder}/device/${way}/transport`);
}
