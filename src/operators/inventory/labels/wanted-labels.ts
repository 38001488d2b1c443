/**
 * The labels that a node should carry. One that is away for a while (cordoned, not ready, tainted, in trouble) keeps
 * those that it has: the scheduler knows by itself that nothing may come to it, while a kubelet that starts again asks of
 * every pod that it runs whether its node still has the labels that the pod requires, and ends those whose has not. One
 * that the configuration excludes has none.
 */

import {
  type GpuSelection,
  isGpuLabel,
  labelKeys,
  mayBeOfVendor,
  storageClassReadings,
} from "../../../kube/node-labels.ts";
import { interfaceKind } from "../gpu-names/registry.ts";
import { isForSale, mixedReason, type NamedGpu, type NodeInventory } from "../inventory.ts";

export interface LabelContext {
  /** The labels that the node carries now. */
  readonly live: NodeLabels;
  /** Storage class labels that a workload selects with `Gt`. */
  readonly gtSelected: ReadonlySet<string>;
}

export type NodeLabels = Readonly<Record<string, string>>;

export function wantedLabels(node: NodeInventory, { live, gtSelected }: LabelContext): NodeLabels {
  const gpus = { ...unprovenGpuLabels(node, live), ...gpuLabels(node) };
  if (node.notOffered.some(({ type }) => type === "Excluded")) return {};
  if (node.notOffered.some(({ type }) => type !== "Full")) return { ...live, ...presenceOnly(gpus) };
  const [plain, number] = storageClassReadings;
  const classes = node.storageClasses
    .map(labelKeys.storageClass)
    .map((key) => [key, gtSelected.has(key) ? number : plain] as const);
  return { [labelKeys.node]: "true", ...Object.fromEntries(classes), ...gpus };
}

/**
 * Until discovery has answered, and where it saw no card of a vendor whose device plugin has some, we know nothing of
 * those; then the labels stay as they are. A restart or a failed read must not take a node's gpus off the market. They stay
 * where models are mixed, too: the provider does not sell those, and pods that run there require their labels.
 */
function unprovenGpuLabels({ hardware, namedGpus, pluginVendors }: NodeInventory, live: NodeLabels): NodeLabels {
  const isKnown = (vendor: string) => namedGpus.some((card) => card.vendor === vendor && card.notSold !== mixedReason);
  const unseen = pluginVendors.filter((vendor) => !isKnown(vendor));
  const isUnproven = (key: string) => !hardware || unseen.some((vendor) => mayBeOfVendor(key, vendor));
  return Object.fromEntries(Object.entries(live).filter(([key]) => isGpuLabel(key) && isUnproven(key)));
}

/** This one says that a card is there, not that it is for sale, and its device plugin does not come without it. */
function presenceOnly(gpus: NodeLabels): NodeLabels {
  const { nvidiaPresent } = labelKeys;
  const present = gpus[nvidiaPresent];
  return present === undefined ? {} : { [nvidiaPresent]: present };
}

/**
 * The counts are of the cards that discovery knows by name, as the network counts them. Affinity only asks whether there
 * are any; how many are free is for the scheduler, which has it from the device plugin.
 */
function gpuLabels({ namedGpus, pluginVendors }: NodeInventory): NodeLabels {
  const labels: Record<string, string> = {};
  const counts = new Map<string, number>();
  for (const card of namedGpus) {
    // Also for a card that is not for sale: without this label its device plugin would never come to count it.
    if (card.vendor === "nvidia") labels[labelKeys.nvidiaPresent] = "true";
    if (!isForSale(card)) continue;
    // A processor's own graphics have no name either, and no device plugin counts them.
    if (card.name === undefined && !pluginVendors.includes(card.vendor)) continue;
    labels[labelKeys.gpuVendor(card.vendor)] = "true";
    if (card.name === undefined) continue;
    labels[labelKeys.gpuModel(card.name)] = "true";
    for (const key of countedKeys(card.vendor, card.name, card)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [key, count] of counts) labels[key] = String(count);
  return labels;
}

/** Each part alone and both together: a node may hold one model with two sizes of memory on two interfaces. */
function countedKeys(vendor: string, model: string, { memorySize, interface: kind }: NamedGpu): Set<string> {
  const ram = memorySize || undefined;
  const shortKind = kind ? interfaceKind(kind) : undefined;
  const selections: GpuSelection[] = [
    { vendor, model },
    { vendor, model, ram },
    { vendor, model, interface: shortKind },
    { vendor, model, ram, interface: shortKind },
  ];
  return new Set(selections.map(labelKeys.gpuCount));
}
