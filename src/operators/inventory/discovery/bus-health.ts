/** What the PCI bus knows about a card that has failed, whatever its driver says. */
import { type PciDevice, pciPath } from "./pci-devices.ts";
import type { Tree } from "./tree.ts";

export async function busFaultOf(tree: Tree, { address, revision }: PciDevice): Promise<string | undefined> {
  // A card that is gone leaves the bus at rest, which reads as ones.
  const ids = await tree.head(`${pciPath(address)}/config`, 4);
  const silent = ids?.length === 4 && ids.every((byte) => byte === 0xff);
  if (silent || revision === "0xff") return "it no longer answers on the PCI bus";
  // After a fatal error a link is not to be relied on until the node was started again, and then the count is zero.
  const counts = (await tree.text(`${pciPath(address)}/aer_dev_fatal`)) ?? "";
  const fatal = Number(/^TOTAL_ERR_FATAL\s+(\d+)$/m.exec(counts)?.[1] ?? 0);
  return fatal > 0 ? `its PCI link had ${fatal} fatal errors since the node was started` : undefined;
}
