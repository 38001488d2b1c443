/** Everything that a node has, read from its /sys and /proc. */
import { inParallel } from "../../../runtime/in-parallel.ts";
import type { Hardware, NetworkInterface } from "../hardware.ts";
import { readDisks } from "./disks.ts";
import { isGpuCard, readGpuCards } from "./gpu-cards.ts";
import { discoveryAtOnce, readPciDevices } from "./pci-devices.ts";
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

/** The hardware, and what it was made of, for those who want to know more. */
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
    gpus: await readGpuCards(tree, firstOf(pciDevices.filter(isGpuCard), "cards", tree)),
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

/** In bytes, the ordinary 4 KiB pages first. */
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
