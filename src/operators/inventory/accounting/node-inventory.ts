/**
 * One node's inventory, folded from what is known of it. Nothing is remembered here, so it can be made anew at any time
 * and is the same. What does not add up becomes a condition; no number is ever bent to fit.
 */
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import type { Amounts, Condition, Hardware, NamedGpu, NodeInventory } from "../inventory.ts";
import { assertSound } from "../sound-amounts.ts";
import type { NodeFacts } from "./node-facts.ts";
import type { NodeUsage } from "./node-usage.ts";
import { fullOfPods, notOffered } from "./not-offered.ts";
import { overbooked } from "./overbooked.ts";
import type { Resources } from "./resources.ts";
import { type DiskUse, noVolumesOnDisk, sharedDisk } from "./shared-disk.ts";
import { cardText, soldCards } from "./sold-cards.ts";
import type { NodeUse } from "./tally.ts";
import { noVolumes, type VolumesByDriver, volumeAmounts } from "./volumes.ts";

export interface NodeInputs {
  readonly node: NodeFacts;
  readonly use: NodeUse;
  readonly config: InventoryConfig;
  /** The classes whose volumes it can mount. */
  readonly storageClasses: readonly string[];
  readonly namedGpus: readonly NamedGpu[];
  /** What volumes take of its disk; without it, nothing. */
  readonly disk?: DiskUse;
  /** From its CSINode, where there is one. */
  readonly volumeLimits?: VolumesByDriver | undefined;
  /** The last good answer of discovery, and when it came. */
  readonly hardware?: Hardware | undefined;
  readonly hardwareAtMs?: number | undefined;
  readonly usage?: NodeUsage | undefined;
  /** What others have to say about the node. */
  readonly conditions?: readonly Condition[];
}

export function nodeInventory(inputs: NodeInputs): NodeInventory {
  const { node, use, config, hardware, hardwareAtMs, usage } = inputs;
  const hindrances = notOffered(node, config);
  const reasons = [...hindrances, ...fullOfPods(node, use.pods.size)];
  const { cards, conditions: ofCards } = soldCards(node, inputs.namedGpus);
  const amountsOf = (name: keyof Resources): Amounts => ({
    capacity: node.capacity[name],
    allocatable: node.allocatable[name],
    allocated: use.sum[name],
  });
  const disk = sharedDisk(amountsOf("ephemeralBytes"), inputs.disk ?? noVolumesOnDisk);
  const amounts = {
    cpuMilli: amountsOf("cpuMilli"),
    memoryBytes: amountsOf("memoryBytes"),
    ephemeralBytes: disk.amounts,
    gpus: amountsOf("gpus"),
    volumes: volumeAmounts(node.attached, inputs.volumeLimits ?? noVolumes),
  };
  const conditions = [
    ...missingStatus(node),
    ...unreadable(node, use),
    ...overbooked(amounts, use.pods, disk.debt),
    ...unhealthyGpus(amounts.gpus, cards),
    ...ofCards,
    ...unknownGpus(node, cards),
    ...(inputs.conditions ?? []),
  ];
  assertSound(node.name, Object.values(amounts), conditions);
  return {
    name: node.name,
    offered: reasons.length === 0,
    notOffered: reasons,
    ...amounts,
    pluginVendors: node.pluginVendors,
    storageClasses: hindrances.length === 0 ? inputs.storageClasses : [],
    ...(hardware && { hardware }),
    ...(hardwareAtMs !== undefined && { hardwareAtMs }),
    namedGpus: cards,
    ...(usage && { usage }),
    conditions,
  };
}

function missingStatus({ hasStatus }: NodeFacts): Condition[] {
  if (hasStatus) return [];
  return [{ type: "StatusMissing", message: "the node does not say what it has; nothing of it is offered" }];
}

function unreadable(node: NodeFacts, use: NodeUse): Condition[] {
  const type = "QuantityMalformed";
  const found: Condition[] = [];
  if (node.problem !== undefined) found.push({ type, message: `counted as nothing: ${node.problem}` });
  if (use.unreadable > 0) {
    // Only then are the pods looked at one by one: the fold must not cost more the more pods there are.
    const pod = [...use.pods].find(({ problem }) => problem !== undefined);
    const more = use.unreadable > 1 ? `, and of ${use.unreadable - 1} more pods` : "";
    found.push({ type, message: `counted as nothing: of pod ${pod?.name}, ${pod?.problem}${more}` });
  }
  return found;
}

/**
 * How many gpus there are is what the device plugins say: one that they hold for unhealthy is no longer allocatable.
 * What discovery sees of a card's health takes away its name in the market, and nothing from that count a second time.
 */
function unhealthyGpus({ capacity, allocatable }: Amounts, cards: readonly NamedGpu[]): Condition[] {
  const evidence = cards
    .filter(({ health }) => health?.healthy === false)
    .map((card) => `${cardText(card)}: ${card.health?.reason ?? "unhealthy"}`);
  if (capacity > allocatable) evidence.unshift(`the device plugin holds ${capacity - allocatable} of ${capacity} back`);
  return evidence.length === 0 ? [] : [{ type: "UnhealthyGpu", message: evidence.join("; ") }];
}

/**
 * A processor of AMD may have graphics of its own, which nobody sells and no registry will name. Without a device plugin
 * that counts cards of AMD, one without a name is taken for that; NVIDIA makes nothing of the kind.
 */
function unknownGpus({ pluginVendors }: NodeFacts, cards: readonly NamedGpu[]): Condition[] {
  const unknown = cards.filter(
    ({ name, vendor, notSold }) =>
      name === undefined && notSold === undefined && (vendor !== "amd" || pluginVendors.includes(vendor)),
  );
  const kinds = new Map(unknown.map((card) => [`${card.vendorId}:${card.deviceId}`, card]));
  return [...kinds].map(([ids, { vendor, registryLine }]) => ({
    type: "UnknownGpu",
    message: `the registry has no name for the ${vendor} card ${ids}; this line would give it one: ${registryLine}`,
  }));
}
