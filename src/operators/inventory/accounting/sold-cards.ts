/**
 * Which of a node's cards are sold as what they are. A device of a plugin may be a part of a card, and a card may belong
 * to virtual machines; neither may be sold under the name of the whole card. The plugins' count of devices stays as it is:
 * a card without a name in the market cannot be asked for.
 */
import { type Condition, condition } from "../../../runtime/condition.ts";
import { mixedReason, type NamedGpu } from "../inventory.ts";
import { type GpuVendor, gpuVendors, pluginResources } from "./resources.ts";
import type { WatchedNode } from "./watched-node.ts";

/** All of the cards; those that are not sold say why. */
export function soldCards(
  node: WatchedNode,
  cards: readonly NamedGpu[],
): { readonly cards: readonly NamedGpu[]; readonly conditions: readonly Condition[] } {
  const reasons = new Map<NamedGpu, string>();
  const conditions: Condition[] = [];
  for (const card of cards) {
    const found = ownReason(card);
    if (!found) continue;
    reasons.set(card, found.reason);
    const message = `${cardText(card)} ${found.reason}, so it is not sold; ${found.remedy}`;
    conditions.push(condition(found.type, message));
  }
  for (const vendor of gpuVendors) {
    const mixed = mixedModels(vendor, node, cards);
    for (const card of mixed.renamed) reasons.set(card, "its device plugin gives it another name");
    for (const card of mixed.unclear) reasons.set(card, mixedReason);
    if (mixed.message !== undefined) conditions.push(condition("GpuMixed", mixed.message));
    const message = sharedDevices(vendor, node, cards);
    if (message === undefined) continue;
    conditions.push(condition("GpuShared", message));
    for (const card of cards) if (card.vendor === vendor) reasons.set(card, "its devices are parts of cards");
  }
  if (reasons.size === 0) return { cards, conditions };
  const marked = cards.map((card) => {
    const notSold = reasons.get(card);
    return notSold === undefined ? card : { ...card, notSold };
  });
  return { cards: marked, conditions };
}

interface MixedModels {
  /** Pods of tenants request the plugin's usual name, so these cannot be had. */
  readonly renamed: readonly NamedGpu[];
  readonly unclear: readonly NamedGpu[];
  readonly message?: string;
}

/** Kubernetes gives a pod any device of a name, so with several kinds under one name it may get any of them. */
function mixedModels(vendor: GpuVendor, node: WatchedNode, cards: readonly NamedGpu[]): MixedModels {
  const whole = cards.filter((card) => card.vendor === vendor && ownReason(card) === undefined);
  if (kindsOf(vendor, node, whole).length < 2) return { renamed: [], unclear: [] };
  let renamed = [...new Set(node.gpuRenamed[vendor].flatMap((name) => meantBy(plainWord(name), whole)))];
  // One of these names means less than it seems to.
  if (renamed.length === whole.length && node.gpuDevicesCounted[vendor] > 0n) renamed = [];
  const unclear = whole.filter((card) => !renamed.includes(card));
  const kinds = kindsOf(vendor, node, unclear);
  if (kinds.length < 2) return { renamed, unclear: [] };
  const message =
    `the ${vendor} device plugin offers ${kinds.join(" and ")} as ${pluginResources[vendor]}, so a pod may get either ` +
    "and none is sold; use one kind per node, or let the plugin's configuration (resources.gpus) give the others " +
    "names of their own";
  return { renamed, unclear, message };
}

/** The GPUs of the longest model that the resource name contains: "l40s" means no l4. Of its kinds, those that it names, too. */
function meantBy(resource: string, cards: readonly NamedGpu[]): readonly NamedGpu[] {
  const named = (text = "") => text !== "" && resource.includes(plainWord(text));
  const lengthOf = ({ name = "" }: NamedGpu) => plainWord(name).length;
  const found = cards.filter(({ name }) => named(name));
  const longest = Math.max(...found.map(lengthOf));
  const ofModel = found.filter((card) => lengthOf(card) === longest);
  // "a100-sxm4-40gb" where the registry says 40Gi.
  const ofMemory = ofModel.filter(({ memorySize }) => named(memorySize?.replace("Gi", "G")));
  const either = ofMemory.length > 0 ? ofMemory : ofModel;
  const ofInterface = either.filter((card) => named(card.interface));
  return ofInterface.length > 0 ? ofInterface : either;
}

/** A tenant may ask for a size of memory and an interface, too. */
function kindsOf(vendor: GpuVendor, node: WatchedNode, cards: readonly NamedGpu[]): string[] {
  const named = cards.filter(({ name }) => name !== undefined);
  if (named.length === 0) return [];
  // Unnamed ones may be graphics of the processor or the board, which the plugin does not count.
  const counted = node.gpuDevicesCounted[vendor] > BigInt(named.length) ? cards : named;
  return [...new Set(counted.map(kindText))];
}

/** "a100 80Gi SXM4" */
function kindText({ name, memorySize, interface: kind, vendorId, deviceId }: NamedGpu): string {
  return name === undefined ? `${vendorId}:${deviceId}` : [name, memorySize, kind].filter(Boolean).join(" ");
}

function plainWord(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** What the card itself tells. */
function ownReason({ driver = "", migInstances = 0 }: NamedGpu) {
  // Some cards have a variant of vfio-pci of their own, with underscores.
  if (/vfio[-_]pci/.test(driver)) {
    return {
      type: "GpuPassedThrough",
      reason: `is bound to ${driver}, which hands it to virtual machines`,
      remedy: "bind it to the driver of its vendor",
    };
  }
  if (migInstances === 0) return undefined;
  return {
    type: "GpuShared",
    reason: `has ${migInstances} MIG instances`,
    remedy: "nvidia-smi -mig 0 makes it one card again",
  };
}

/** What only the plugin's count of devices tells. Where discovery saw no card, it knows nothing of them. */
function sharedDevices(
  vendor: GpuVendor,
  { gpuDevicesCounted, gpuDevices, gpuParts }: WatchedNode,
  cards: readonly NamedGpu[],
): string | undefined {
  const own = cards.filter((card) => card.vendor === vendor);
  if (own.length === 0) return undefined;
  const split = own.filter(({ migInstances = 0 }) => migInstances > 0).length;
  const whole = own.filter((card) => ownReason(card) === undefined).length;
  const [counted, devices] = [gpuDevicesCounted[vendor], gpuDevices[vendor]];
  const isMore = devices > BigInt(whole);
  if ((isMore || areSlices(counted, devices, BigInt(own.length))) && split < own.length) {
    return (
      `the ${vendor} device plugin counts ${isMore ? devices : counted} devices on ${whole} whole cards, so a device is a part of a card ` +
      "(time slicing, MPS or partitions) and none is sold; let it count one device for each card"
    );
  }
  const parts = gpuParts[vendor];
  if (parts.length === 0 || split > 0) return undefined;
  return (
    `the ${vendor} device plugin offers parts of cards (${parts.join(", ")}), and of which cards cannot be seen, so none ` +
    "is sold; let it count one device for each card"
  );
}

/**
 * So many slices of each card, of which all those of a sick card are held back: no more may be left than there are cards.
 * Of cards that fell off the bus the plugin still counts one device each, which is no such multiple.
 */
function areSlices(counted: bigint, left: bigint, cards: bigint): boolean {
  const slices = counted / cards;
  return slices > 1n && counted % cards === 0n && left % slices === 0n;
}

/** "h200 at 0000:00:07.0": one card, for messages. */
export function cardText({ name, deviceId, address }: NamedGpu): string {
  return `${name ?? deviceId} at ${address}`;
}
