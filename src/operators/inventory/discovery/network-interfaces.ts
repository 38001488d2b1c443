/** The interfaces that lead out of the node: those with a device behind them, be it a card or a virtual machine's. */
import { inParallel } from "../../../runtime/in-parallel.ts";
import { limits } from "../../../runtime/limits.ts";
import type { NetworkInterface } from "../inventory.ts";
import { plainName, type Tree } from "./tree.ts";

/** What older kernels say instead of -1 when they do not know. */
const unknownSpeed = 2 ** 32 - 1;

export async function readInterfaces(tree: Tree): Promise<NetworkInterface[]> {
  const names = await tree.names("/sys/class/net");
  const found = await inParallel(names, limits.discoveryAtOnce, (name) => readInterface(tree, name));
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
