/** What the network's messages say of a node and of a storage class, in exact numbers. What makes no sense is refused. */
import type { GPUInfo, Node, ResourcePair, Storage } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { type Card, cardOf } from "../../../market/gpu-attributes.ts";
import { parseQuantity } from "../../../market/quantity.ts";
import type { CardCount } from "../placement/cards.ts";
import type { Amount, PictureClass, PictureNode } from "./feed.ts";

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;

export function readNode({ name, resources, capabilities }: Node): PictureNode {
  const { cpu, memory, gpu, ephemeralStorage, volumesAttached } = resources ?? {};
  const volumes = amount("volumes", volumesAttached, nanoPerOne);
  return {
    name,
    cpuMilli: amount("cpu", cpu?.quantity, nanoPerMilli),
    memoryBytes: amount("memory", memory?.quantity, nanoPerOne),
    ephemeralBytes: amount("ephemeral storage", ephemeralStorage, nanoPerOne),
    gpus: amount("gpus", gpu?.quantity, nanoPerOne),
    cards: countCards(gpu?.info ?? []),
    // Zero is what an operator says that does not know it; nobody's driver takes none.
    volumes: volumes.allocatable === 0n ? { ...volumes, allocatable: "unlimited" } : volumes,
    storageClasses: capabilities?.storageClasses ?? [],
  };
}

export function readClass({ quantity, info }: Storage): PictureClass {
  return { class: info?.class ?? "", bytes: amount("storage", quantity, nanoPerOne) };
}

/** How many there are of each kind. */
function countCards(told: readonly GPUInfo[]): CardCount[] {
  const alike = new Map<string, { card: Card; count: bigint }>();
  for (const each of told) {
    // Told apart by what is told of them, so that eight cards of a kind are read once.
    const words = `${each.vendor}/${each.name}/${each.interface}/${each.memorySize}`;
    const known = alike.get(words);
    if (known) known.count += 1n;
    else alike.set(words, { card: cardOf(each), count: 1n });
  }
  return [...alike.values()];
}

/** A part of a unit is nothing that could be given, but it is taken. */
function amount(what: string, pair: ResourcePair | undefined, nanoPerUnit: bigint): Amount {
  const there = nanoOf(pair?.allocatable?.string);
  const taken = nanoOf(pair?.allocated?.string);
  if (taken < 0n) throw new Error(`of its ${what} less than nothing is allocated: ${pair?.allocated?.string}`);
  const allocated = (taken + nanoPerUnit - 1n) / nanoPerUnit;
  if (there === -nanoPerOne) return { allocatable: "unlimited", allocated };
  if (there < 0n) throw new Error(`of its ${what} less than nothing is allocatable: ${pair?.allocatable?.string}`);
  return { allocatable: there / nanoPerUnit, allocated };
}

/** An amount that is not in the message is zero, as in every message of this kind. */
function nanoOf(text: string | undefined): bigint {
  return text ? parseQuantity(text).nano : 0n;
}
