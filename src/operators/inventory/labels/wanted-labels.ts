/**
 * A node's labels. An unavailable node keeps them: a restarting kubelet ends pods whose required labels are missing. An
 * excluded node has none.
 */
import { fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import {
  type GpuSelection,
  isGpuLabel,
  labelKeys,
  mayBeOfVendor,
  storageClassPrefix,
  storageClassReadings,
} from "../../../kube/node-labels.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import { interfaceKind } from "../gpu-names/registry.ts";
import { isForSale, mixedReason, type NamedGpu, type NodeInventory } from "../inventory.ts";

export interface LabelContext {
  readonly live: NodeLabels;
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
 * GPU labels stay while discovery has not seen the GPUs that a device plugin counts, and where models are mixed: a
 * restart or failed read must not unlabel a node whose running pods require them.
 */
function unprovenGpuLabels({ hardware, namedGpus, pluginVendors }: NodeInventory, live: NodeLabels): NodeLabels {
  const isKnown = (vendor: string) => namedGpus.some((gpu) => gpu.vendor === vendor && gpu.notSold !== mixedReason);
  const unseen = pluginVendors.filter((vendor) => !isKnown(vendor));
  const isUnproven = (key: string) => !hardware || unseen.some((vendor) => mayBeOfVendor(key, vendor));
  return Object.fromEntries(Object.entries(live).filter(([key]) => isGpuLabel(key) && isUnproven(key)));
}

/** Its device plugin runs only on nodes with this label. */
function presenceOnly(gpus: NodeLabels): NodeLabels {
  const { nvidiaPresent } = labelKeys;
  const present = gpus[nvidiaPresent];
  return present === undefined ? {} : { [nvidiaPresent]: present };
}

/** Counts of GPUs with a market name. */
function gpuLabels({ namedGpus, pluginVendors }: NodeInventory): NodeLabels {
  const labels: Record<string, string> = {};
  const counts = new Map<string, number>();
  for (const gpu of namedGpus) {
    // Also for a GPU that is not sold: its device plugin runs only with this label.
    if (gpu.vendor === "nvidia") labels[labelKeys.nvidiaPresent] = "true";
    if (!isForSale(gpu)) continue;
    // Graphics of a processor have no name either, and no device plugin.
    if (gpu.name === undefined && !pluginVendors.includes(gpu.vendor)) continue;
    labels[labelKeys.gpuVendor(gpu.vendor)] = "true";
    if (gpu.name === undefined) continue;
    labels[labelKeys.gpuModel(gpu.name)] = "true";
    for (const key of countedKeys(gpu.vendor, gpu.name, gpu)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [key, count] of counts) labels[key] = String(count);
  return labels;
}

/** A node may have one model with two memory sizes on two interfaces. */
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

/** A restarted or moved workload has its next pod within this. */
export const inventoryGtKeptMs = 10 * minute;

const none: readonly string[] = [];

export function gtSelectedKeys(podSpec: unknown): readonly string[] {
  const affinity = fieldsOf(fieldsOf(podSpec)["affinity"]);
  const required = fieldsOf(affinity["nodeAffinity"])["requiredDuringSchedulingIgnoredDuringExecution"];
  const keys = recordsOf(fieldsOf(required)["nodeSelectorTerms"])
    .flatMap((term) => recordsOf(term["matchExpressions"]))
    .filter(({ operator }) => operator === "Gt")
    .map(({ key }) => textOf(key) ?? "")
    .filter((key) => key.startsWith(storageClassPrefix));
  return keys.length === 0 ? none : [...new Set(keys)];
}

export function createGtMemory(clock: Pick<Clock, "monotonicMs">) {
  const lastSeenMs = new Map<string, number>();
  return (selected: ReadonlySet<string>): ReadonlySet<string> => {
    const nowMs = clock.monotonicMs();
    for (const key of selected) lastSeenMs.set(key, nowMs);
    for (const [key, seenMs] of lastSeenMs) if (nowMs - seenMs >= inventoryGtKeptMs) lastSeenMs.delete(key);
    return new Set(lastSeenMs.keys());
  };
}
