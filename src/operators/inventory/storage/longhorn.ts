/** Rancher Longhorn: a replica takes the whole size of its volume. The room is what Longhorn still schedules. */

import { conditionHolds, fieldsOf } from "../../../kube/json-fields.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { largest, smallest } from "../../../runtime/bigint.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { parseJson } from "../../../runtime/parse-json.ts";
import type { StorageInventory } from "../inventory.ts";
import {
  inventoryOf,
  nonEmptyOf,
  type StorageBackend,
  type StorageClass,
  storageKinds,
  storageUnreadable,
  unreadable,
  type VolumeSums,
  wholeNumberOf,
  wordsOf,
} from "./classes.ts";

interface LonghornView {
  readonly nodes: readonly LonghornNode[];
  readonly settings: readonly LonghornSetting[];
  readonly volumes: VolumeSums;
  readonly sold: readonly StorageClass[];
  classOf(volume: string): string | undefined;
  readonly degraded: readonly LonghornVolume[];
}

export function longhornInventory(storageClass: StorageClass, view: LonghornView): StorageInventory {
  const { name, parameters } = storageClass;
  const rules = schedulingRules(view.settings, engineOf(storageClass));
  const replicas = replicasOf(parameters["numberOfReplicas"], rules);
  if (replicas === undefined) {
    const message = `the class has numberOfReplicas ${String(parameters["numberOfReplicas"])}, which is not a number`;
    return unreadable(storageClass, "longhorn", view.volumes, message);
  }
  const disks = disksOf(view, storageClass);
  return inventoryOf(storageClass, "longhorn", view.volumes, {
    capacity: roomOf(disks, replicas, rules, ({ disk }) => disk.maximumBytes),
    free: roomOf(disks, replicas, rules, (place) => freeOf(place, rules)),
    sharers: view.sold.filter((other) => sharesDisks(storageClass, disks, other, view)).map((other) => other.name),
    replicas: Number(replicas),
    performance: selectorOf(parameters["diskSelector"]).find((tag) => ["nvme", "ssd", "hdd"].includes(tag)),
    conditions: [...problemsOf(view.nodes, disks, rules), ...degradedVolumes(name, view)],
  });
}

/** None, or zero, means Longhorn's default. */
function replicasOf(parameter: unknown, { defaultReplicas }: SchedulingRules): bigint | undefined {
  const text = nonEmptyOf(parameter) ?? "0";
  if (!/^\d{1,2}$/.test(text)) return undefined;
  return BigInt(text) || defaultReplicas || 1n;
}

type Place = { readonly node: LonghornNode; readonly disk: LonghornDisk };

function engineOf({ parameters }: StorageClass): "v1" | "v2" {
  return parameters["dataEngine"] === "v2" ? "v2" : "v1";
}

function sharesDisks(own: StorageClass, disks: readonly Place[], other: StorageClass, view: LonghornView): boolean {
  if (other.name === own.name) return false;
  const others = new Set(disksOf(view, other).map(({ disk }) => disk));
  return disks.some(({ disk }) => others.has(disk));
}

function disksOf(view: LonghornView, storageClass: StorageClass): Place[] {
  const { parameters } = storageClass;
  const rules = schedulingRules(view.settings, engineOf(storageClass));
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
  return (nonEmptyOf(parameter) ?? "")
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
  return (largest(0n, maximumBytes - reservedBytes) * overProvisioning) / 100n;
}

function freeOf({ node, disk }: Place, rules: SchedulingRules): bigint {
  if (!node.schedulable || !disk.schedulable) return 0n;
  // A new volume is empty, but it only goes where enough is left for those that grow.
  if (disk.availableBytes <= (disk.maximumBytes * rules.minimalAvailable) / 100n) return 0n;
  return largest(0n, limitOf(disk, rules) - disk.scheduledBytes);
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
 * The largest x with Σ min(domain, x) ≥ copies · x: each byte lies in so many domains, and the largest may be too
 * large.
 */
export function spread(domains: readonly bigint[], copies: bigint): bigint {
  const rest = [...domains].sort((a, b) => (a < b ? -1 : 1));
  let sum = total(rest);
  let most = sum / copies;
  for (let left = copies - 1n; left > 0n; left -= 1n) {
    sum -= rest.pop() ?? 0n;
    most = smallest(most, sum / left);
  }
  return most;
}

function total(amounts: Iterable<bigint>): bigint {
  return Iterator.from(amounts).reduce((sum, amount) => sum + amount, 0n);
}

function problemsOf(nodes: readonly LonghornNode[], places: readonly Place[], rules: SchedulingRules): Condition[] {
  const unread = nodes.flatMap(({ name, unreadable: disks }) => disks.map((disk) => `${disk} of ${name}`));
  const over = places.filter(({ disk }) => disk.scheduledBytes > limitOf(disk, rules));
  const overNames = over.map(({ node, disk }) => `${disk.name} of ${node.name}`);
  const problems: [readonly string[], make: (message: string) => Condition, (names: string) => string][] = [
    [unread, storageUnreadable, (names) => `Longhorn reports no valid sizes of the disks ${names}`],
    [rules.unreadable, storageUnreadable, (names) => `Longhorn's settings ${names} cannot be read; defaults apply`],
    [overNames, overbooked, (names) => `more is scheduled than Longhorn allows on the disks ${names}`],
  ];
  return problems.flatMap(([names, make, textOf]) => (names.length > 0 ? [make(textOf(list(names)))] : []));
}

const overbooked = (message: string) => condition("Overbooked", message);

function degradedVolumes(className: string, { degraded, classOf }: LonghornView): Condition[] {
  const names = degraded
    .filter(({ volume }) => volume !== undefined && classOf(volume) === className)
    .map(({ volume, robustness }) => `${volume} (${robustness})`);
  return names.length === 0 ? [] : [condition("VolumesDegraded", `replicas are missing of ${list(names)}`)];
}

/** Sorted, so that an equal set reads the same. */
function list(names: readonly string[]): string {
  const first = [...names].sort().slice(0, 5).join(", ");
  return names.length > 5 ? `${first} and ${names.length - 5} more` : first;
}

type LonghornNode = ReturnType<typeof readLonghornNode>;
type LonghornDisk = NonNullable<ReturnType<typeof readDisk>>;
type LonghornVolume = ReturnType<typeof readLonghornVolume>;
type LonghornSetting = ReturnType<typeof readLonghornSetting>;

export function readLonghornNode(object: KubeObject) {
  const { name, deletionTimestamp } = object.metadata;
  const spec = fieldsOf(object["spec"]);
  const status = fieldsOf(object["status"]);
  const wanted = fieldsOf(spec["disks"]);
  const disks = Object.entries(fieldsOf(status["diskStatus"]))
    // A disk that is being removed has a status, but is no longer in the spec.
    .filter(([disk]) => Object.hasOwn(wanted, disk))
    .map(([disk, seen]) => ({ name: disk, disk: readDisk(disk, fieldsOf(wanted[disk]), fieldsOf(seen)) }));
  return {
    name,
    /** Longhorn puts new replicas there. */
    schedulable: deletionTimestamp === undefined && isSchedulable(spec, status),
    tags: wordsOf(spec["tags"]),
    zone: nonEmptyOf(status["zone"]) ?? "",
    disks: disks.flatMap(({ disk }) => disk ?? []),
    unreadable: disks.filter(({ disk }) => disk === undefined).map((entry) => entry.name),
  };
}

type Plain = Readonly<Record<string, unknown>>;

function isSchedulable(spec: Plain, { conditions }: Plain): boolean {
  return (
    spec["allowScheduling"] === true && conditionHolds(conditions, "Ready") && conditionHolds(conditions, "Schedulable")
  );
}

function readDisk(name: string, spec: Plain, status: Plain) {
  const maximumBytes = wholeNumberOf(status["storageMaximum"]);
  const availableBytes = wholeNumberOf(status["storageAvailable"]);
  const scheduledBytes = wholeNumberOf(status["storageScheduled"]);
  const reservedBytes = wholeNumberOf(spec["storageReserved"] ?? 0);
  if (maximumBytes === undefined || availableBytes === undefined) return undefined;
  if (scheduledBytes === undefined || reservedBytes === undefined) return undefined;
  return {
    name,
    /** Replicas of the first data engine live in a file system, those of the second on a block device. */
    type: spec["diskType"] === "block" ? "block" : "filesystem",
    schedulable: spec["evictionRequested"] !== true && isSchedulable(spec, status),
    tags: wordsOf(spec["tags"]),
    maximumBytes,
    availableBytes,
    /** The sizes of all replicas on it, written or not. */
    scheduledBytes,
    reservedBytes,
  };
}

export function readLonghornVolume(object: KubeObject) {
  const status = fieldsOf(object["status"]);
  return {
    /** The PersistentVolume it backs; a volume made in Longhorn itself has none. */
    volume: nonEmptyOf(fieldsOf(status["kubernetesStatus"])["pvName"]),
    /** "healthy", "degraded" with too few replicas, "faulted" with none, "unknown" while it is attached nowhere. */
    robustness: nonEmptyOf(status["robustness"]),
  };
}

export function isDegraded({ robustness }: LonghornVolume): boolean {
  return robustness === "degraded" || robustness === "faulted";
}

/** Its value is "100", or one value per data engine: {"v1":"3","v2":"3"}. */
export function readLonghornSetting(object: KubeObject) {
  return { name: object.metadata.name, value: nonEmptyOf(object["value"]) ?? "" };
}

type SchedulingRules = ReturnType<typeof schedulingRules>;

/** What the settings decide about scheduling; the values where there are none are Longhorn's own. */
function schedulingRules(settings: readonly LonghornSetting[], engine: "v1" | "v2") {
  const values = new Map(settings.map(({ name, value }) => [name, value]));
  const unreadable: string[] = [];

  function read<T>(name: string, otherwise: T, parse: (text: string) => T | undefined): T {
    const value = values.get(name);
    if (value === undefined || value === "") return otherwise;
    const parsed = parse(ofEngine(value, engine));
    if (parsed === undefined) unreadable.push(name);
    return parsed ?? otherwise;
  }
  const number = (name: string, otherwise: bigint) =>
    read(name, otherwise, (text) => (/^\d{1,9}$/.test(text) ? BigInt(text) : undefined));
  const flag = (name: string, otherwise: boolean) =>
    read(name, otherwise, (text) => (text === "true" ? true : text === "false" ? false : undefined));

  return {
    /** How much of a disk may be promised, in hundredths: 200 promises it twice. */
    overProvisioning: number("storage-over-provisioning-percentage", 100n),
    /** How much of a disk must stay free, in hundredths. */
    minimalAvailable: number("storage-minimal-available-percentage", 25n),
    defaultReplicas: number("default-replica-count", 3n),
    /** Whether two replicas of a volume may share a zone, a node, or a disk. */
    sameZone: flag("replica-zone-soft-anti-affinity", true),
    sameNode: flag("replica-soft-anti-affinity", false),
    sameDisk: flag("replica-disk-soft-anti-affinity", true),
    /** Whether a volume without tags may be on tagged disks and nodes. */
    anyNodeTags: flag("allow-empty-node-selector-volume", true),
    anyDiskTags: flag("allow-empty-disk-selector-volume", true),
    /** Settings that cannot be read; their defaults hold. */
    unreadable,
  };
}

function ofEngine(value: string, engine: "v1" | "v2"): string {
  if (!value.startsWith("{")) return value;
  const read = parseJson(value);
  return read === undefined ? value : String(fieldsOf(read)[engine]);
}

interface LonghornBackendDeps {
  readonly kube: Pick<Kube, "watch">;
  readonly classOf: (volume: string) => string | undefined;
  readonly changed: () => void;
}

export function createLonghornBackend({ kube, classOf, changed }: LonghornBackendDeps): StorageBackend {
  const nodes = kube.watch({ kind: storageKinds.longhornNode, project: readLonghornNode, handle: changed });
  const settings = kube.watch({ kind: storageKinds.longhornSetting, project: readLonghornSetting, handle: changed });
  const degraded = new Map<string, LonghornVolume>();
  const longhornVolumes = kube.watch({
    kind: storageKinds.longhornVolume,
    project: readLonghornVolume,
    handle({ type, name, value }) {
      const before = degraded.get(name)?.robustness;
      if (type !== "deleted" && isDegraded(value)) degraded.set(name, value);
      else degraded.delete(name);
      // Longhorn writes every growth of a volume.
      if (degraded.get(name)?.robustness !== before) changed();
    },
  });
  const needed = { "the nodes of Longhorn": nodes, "the settings of Longhorn": settings };
  return {
    needed,
    caches: { ...needed, "the volumes of Longhorn": longhornVolumes },
    inventory: (storageClass, volumes, sold) =>
      longhornInventory(storageClass, {
        nodes: [...nodes.list()],
        settings: [...settings.list()],
        degraded: [...degraded.values()],
        volumes,
        sold,
        classOf,
      }),
    async close() {
      await Promise.all([nodes.close(), settings.close(), longhornVolumes.close()]);
    },
  };
}
