/** The disks that are in the node: not their partitions, and not what only looks like a disk. */
import { inParallel } from "../../../runtime/in-parallel.ts";
import type { Disk } from "../hardware.ts";
import { discoveryAtOnce } from "./pci-devices.ts";
import { plainName, type Tree } from "./tree.ts";

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
