/** What is on the PCI bus. The kernel lists it whether or not a driver is there. */
import { basename } from "node:path";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { plainName, type Tree } from "./tree.ts";

/** Files that are read at once: Node has four threads for them. */
export const discoveryAtOnce = 8;

export type PciDevice = NonNullable<Awaited<ReturnType<typeof readDevice>>>;

const folder = "/sys/bus/pci/devices";
/** Domain, bus, device and function. */
const addressForm = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i;

export function pciPath(at: string): string {
  return `${folder}/${at}`;
}

export async function readPciDevices(tree: Tree): Promise<PciDevice[]> {
  // Hex digits have their own order.
  const inOrder = (await tree.names(folder)).filter((name) => addressForm.test(name)).sort();
  const devices = await inParallel(inOrder, discoveryAtOnce, (name) => readDevice(tree, name));
  return devices.filter((device) => device !== undefined);
}

async function readDevice(tree: Tree, address: string) {
  const path = pciPath(address);
  const classCode = await readHex(tree, `${path}/class`, 6);
  const vendorId = await readHex(tree, `${path}/vendor`, 4);
  const deviceId = await readHex(tree, `${path}/device`, 4);
  if (classCode === undefined || vendorId === undefined || deviceId === undefined) {
    tree.report(`${path}: it does not tell its class, vendor and device`);
    return undefined;
  }
  const driver = await tree.link(`${path}/driver`);
  return {
    /** "0000:00:06.0" */
    address,
    /** Class, subclass and programming interface: six lower-case hex digits. */
    classCode,
    /** Four lower-case hex digits each. */
    vendorId,
    deviceId,
    subsystemDeviceId: (await readHex(tree, `${path}/subsystem_device`, 4)) ?? "0000",
    /** "0xa1" */
    revision: `0x${(await readHex(tree, `${path}/revision`, 2)) ?? "00"}`,
    ...(driver === undefined ? {} : { driver: plainName(basename(driver)) }),
    /** A part of another card that is handed to virtual machines, not a card of its own. */
    virtualFunction: await tree.has(`${path}/physfn`),
  };
}

async function readHex(tree: Tree, path: string, digits: number): Promise<string | undefined> {
  const text = (await tree.text(path))?.toLowerCase().replace(/^0x/, "");
  return text?.length === digits && /^[0-9a-f]+$/.test(text) ? text : undefined;
}
