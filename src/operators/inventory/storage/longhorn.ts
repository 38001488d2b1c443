/**
 * Rancher Longhorn: replicas of a volume lie on disks of different nodes, and each takes the whole size of the volume
 * on its disk, written or not. The room of a class is what Longhorn would still schedule, divided by its replicas.
 */
import { type Condition, condition } from "../../../runtime/condition.ts";
import type { StorageInventory } from "../inventory.ts";
import { inventoryOf, storageUnreadable, unreadable } from "./class-inventory.ts";
import { wordOf } from "./fields.ts";
import {
  type LonghornDisk,
  type LonghornNode,
  type LonghornSetting,
  type LonghornVolume,
  type SchedulingRules,
  schedulingRules,
} from "./longhorn-objects.ts";
import type { StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

interface LonghornView {
  readonly nodes: readonly LonghornNode[];
  readonly settings: readonly LonghornSetting[];
  readonly volumes: VolumeSums;
  /** All classes of Longhorn that are sold. */
  readonly sold: readonly StorageClass[];
  /** The class of a PersistentVolume. */
  classOf(volume: string): string | undefined;
  /** Volumes that lack replicas. */
  readonly sick: readonly LonghornVolume[];
}

export function longhornInventory(storageClass: StorageClass, view: LonghornView): StorageInventory {
  const { name, parameters } = storageClass;
  const rules = rulesOf(view, storageClass);
  const replicas = replicasOf(parameters["numberOfReplicas"], rules);
  if (replicas === undefined) {
    const message = `the class asks for ${String(parameters["numberOfReplicas"])} replicas, which is no number of them`;
    return unreadable(storageClass, "longhorn", view.volumes, message);
  }
  const disks = disksOf(view, storageClass);
  return inventoryOf(storageClass, "longhorn", view.volumes, {
    capacity: roomOf(disks, replicas, rules, ({ disk }) => disk.maximumBytes),
    free: roomOf(disks, replicas, rules, (place) => freeOf(place, rules)),
    sharers: view.sold.filter((other) => sharesDisks(storageClass, disks, other, view)).map((other) => other.name),
    replicas: Number(replicas),
    performance: selectorOf(parameters["diskSelector"]).find((tag) => ["nvme", "ssd", "hdd"].includes(tag)),
    conditions: [...problemsOf(view.nodes, disks, rules), ...sickVolumes(name, view)],
  });
}

/** None, or zero, means Longhorn's default. */
function replicasOf(parameter: unknown, { defaultReplicas }: SchedulingRules): bigint | undefined {
  const text = wordOf(parameter) ?? "0";
  if (!/^\d{1,2}$/.test(text)) return undefined;
  return BigInt(text) || defaultReplicas || 1n;
}

interface Place {
  readonly node: LonghornNode;
  readonly disk: LonghornDisk;
}

function engineOf({ parameters }: StorageClass): "v1" | "v2" {
  return parameters["dataEngine"] === "v2" ? "v2" : "v1";
}

function rulesOf({ settings }: LonghornView, storageClass: StorageClass): SchedulingRules {
  return schedulingRules(settings, engineOf(storageClass));
}

function sharesDisks(own: StorageClass, disks: readonly Place[], other: StorageClass, view: LonghornView): boolean {
  if (other.name === own.name) return false;
  const others = new Set(disksOf(view, other).map(({ disk }) => disk));
  return disks.some(({ disk }) => others.has(disk));
}

/** The disks that volumes of the class may lie on, as long as those are in order. */
function disksOf(view: LonghornView, storageClass: StorageClass): Place[] {
  const { parameters } = storageClass;
  const rules = rulesOf(view, storageClass);
  const type = engineOf(storageClass) === "v2" ? "block" : "filesystem";
  const nodeTags = selectorOf(parameters["nodeSelector"]);
  const diskTags = selectorOf(parameters["diskSelector"]);
  return view.nodes
    .filter(({ tags }) => fits(nodeTags, tags, rules.anyNodeTags))
    .flatMap((node) => node.disks.map((disk) => ({ node, disk })))
    .filter(({ disk }) => disk.type === type && fits(diskTags, disk.tags, rules.anyDiskTags));
}

/** "ssd,fast": all of them. */
function selectorOf(parameter: unknown): string[] {
  return (wordOf(parameter) ?? "")
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
}

function fits(wanted: readonly string[], tags: readonly string[], anyTags: boolean): boolean {
  if (wanted.length === 0) return anyTags || tags.length === 0;
  return wanted.every((tag) => tags.includes(tag));
}

/** What Longhorn lets be promised of a disk. */
function limitOf({ maximumBytes, reservedBytes }: LonghornDisk, { overProvisioning }: SchedulingRules): bigint {
  return maximumBytes > reservedBytes ? ((maximumBytes - reservedBytes) * overProvisioning) / 100n : 0n;
}

function freeOf({ node, disk }: Place, rules: SchedulingRules): bigint {
  if (!node.schedulable || !disk.schedulable) return 0n;
  // A new volume is empty, but it only goes where enough is left for those that grow.
  if (disk.availableBytes <= (disk.maximumBytes * rules.minimalAvailable) / 100n) return 0n;
  const limit = limitOf(disk, rules);
  return limit > disk.scheduledBytes ? limit - disk.scheduledBytes : 0n;
}

/** How much fits in all, in volumes with so many replicas, when the disks have this much for them. */
function roomOf(
  places: readonly Place[],
  copies: bigint,
  rules: SchedulingRules,
  amountOf: (place: Place) => bigint,
): bigint {
  const sums = new Map<string, bigint>();
  for (const place of places) {
    const domain = domainOf(place, rules);
    sums.set(domain, (sums.get(domain) ?? 0n) + amountOf(place));
  }
  const mayShareAll = rules.sameZone && rules.sameNode && rules.sameDisk;
  return mayShareAll ? total(sums.values()) / copies : spread([...sums.values()], copies);
}

/** Two replicas of a volume never share a domain. */
function domainOf({ node, disk }: Place, { sameNode, sameZone }: SchedulingRules): string {
  if (!sameZone) return node.zone;
  return sameNode ? `${node.name}/${disk.name}` : node.name;
}

/**
 * The same when each byte must lie in so many different domains: the largest x with Σ min(domain, x) ≥ copies · x.
 * The few largest domains may be larger than can be used; without k of them, the others must carry the other copies.
 */
export function spread(domains: readonly bigint[], copies: bigint): bigint {
  const rest = [...domains].sort((a, b) => (a < b ? -1 : 1));
  let sum = total(rest);
  let most = sum / copies;
  for (let left = copies - 1n; left > 0n; left -= 1n) {
    sum -= rest.pop() ?? 0n;
    if (sum / left < most) most = sum / left;
  }
  return most;
}

function total(amounts: Iterable<bigint>): bigint {
  let sum = 0n;
  for (const amount of amounts) sum += amount;
  return sum;
}

function problemsOf(nodes: readonly LonghornNode[], places: readonly Place[], rules: SchedulingRules): Condition[] {
  const found: Condition[] = [];
  const unread = nodes.flatMap(({ name, unreadable: disks }) => disks.map((disk) => `${disk} of ${name}`));
  if (unread.length > 0) {
    found.push(storageUnreadable(`Longhorn tells no sound numbers of the disks ${list(unread)}`));
  }
  if (rules.unreadable.length > 0) {
    found.push(
      storageUnreadable(`Longhorn's settings ${list(rules.unreadable)} cannot be read; its defaults are taken`),
    );
  }
  const over = places.filter(({ disk }) => disk.scheduledBytes > limitOf(disk, rules));
  if (over.length > 0) {
    const names = over.map(({ node, disk }) => `${disk.name} of ${node.name}`);
    found.push(condition("Overbooked", `more is scheduled than Longhorn allows on the disks ${list(names)}`));
  }
  return found;
}

function sickVolumes(className: string, { sick, classOf }: LonghornView): Condition[] {
  const names = sick
    .filter(({ volume }) => volume !== undefined && classOf(volume) === className)
    .map(({ volume, robustness }) => `${volume} (${robustness})`);
  return names.length === 0 ? [] : [condition("VolumesDegraded", `replicas are missing of ${list(names)}`)];
}

/** Sorted, so that the same trouble reads the same; the first few say it all. */
function list(names: readonly string[]): string {
  const told = [...names].sort().slice(0, 5).join(", ");
  return names.length > 5 ? `${told} and ${names.length - 5} more` : told;
}
