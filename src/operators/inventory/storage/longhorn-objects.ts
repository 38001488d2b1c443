/** The objects of Longhorn, as far as they tell what it can still schedule. */
import { conditionHolds, fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { parseJson } from "../../../runtime/parse-json.ts";
import { wholeOf, wordOf, wordsOf } from "./fields.ts";

export type LonghornNode = ReturnType<typeof readLonghornNode>;
export type LonghornDisk = NonNullable<ReturnType<typeof readDisk>>;
export type LonghornVolume = ReturnType<typeof readLonghornVolume>;
export type LonghornSetting = ReturnType<typeof readLonghornSetting>;

export function readLonghornNode(object: KubeObject) {
  const { name, deletionTimestamp } = object.metadata;
  const spec = fieldsOf(object["spec"]);
  const status = fieldsOf(object["status"]);
  const wanted = fieldsOf(spec["disks"]);
  const disks = Object.entries(fieldsOf(status["diskStatus"]))
    // A disk that is on its way out has a status, but is no longer asked for.
    .filter(([disk]) => Object.hasOwn(wanted, disk))
    .map(([disk, seen]) => ({ name: disk, disk: readDisk(disk, fieldsOf(wanted[disk]), fieldsOf(seen)) }));
  return {
    name,
    /** Longhorn puts new replicas there. */
    schedulable:
      deletionTimestamp === undefined &&
      spec["allowScheduling"] === true &&
      conditionHolds(status["conditions"], "Ready") &&
      conditionHolds(status["conditions"], "Schedulable"),
    tags: wordsOf(spec["tags"]),
    zone: wordOf(status["zone"]) ?? "",
    disks: disks.flatMap(({ disk }) => disk ?? []),
    /** Disks that say nothing one can read. */
    unreadable: disks.filter(({ disk }) => disk === undefined).map((entry) => entry.name),
  };
}

type Plain = Readonly<Record<string, unknown>>;

function readDisk(name: string, spec: Plain, status: Plain) {
  const maximumBytes = wholeOf(status["storageMaximum"]);
  const availableBytes = wholeOf(status["storageAvailable"]);
  const scheduledBytes = wholeOf(status["storageScheduled"]);
  const reservedBytes = wholeOf(spec["storageReserved"] ?? 0);
  if (maximumBytes === undefined || availableBytes === undefined) return undefined;
  if (scheduledBytes === undefined || reservedBytes === undefined) return undefined;
  return {
    name,
    /** Replicas of the first data engine live in a file system, those of the second on a block device. */
    type: spec["diskType"] === "block" ? "block" : "filesystem",
    schedulable:
      spec["allowScheduling"] === true &&
      spec["evictionRequested"] !== true &&
      conditionHolds(status["conditions"], "Ready") &&
      conditionHolds(status["conditions"], "Schedulable"),
    tags: wordsOf(spec["tags"]),
    maximumBytes,
    availableBytes,
    /** The sizes of all replicas on it, written or not. */
    scheduledBytes,
    /** Kept for others than Longhorn. */
    reservedBytes,
  };
}

export function readLonghornVolume(object: KubeObject) {
  const status = fieldsOf(object["status"]);
  return {
    /** The PersistentVolume it backs; a volume made in Longhorn itself has none. */
    volume: wordOf(fieldsOf(status["kubernetesStatus"])["pvName"]),
    /** "healthy", "degraded" with too few replicas, "faulted" with none, "unknown" while it is attached nowhere. */
    robustness: wordOf(status["robustness"]),
  };
}

/** What is sold as safe lacks replicas. */
export function isSick({ robustness }: LonghornVolume): boolean {
  return robustness === "degraded" || robustness === "faulted";
}

/** Its value is "100", or one value per data engine: {"v1":"3","v2":"3"}. */
export function readLonghornSetting(object: KubeObject) {
  return { name: object.metadata.name, value: wordOf(object["value"]) ?? "" };
}

type DataEngine = "v1" | "v2";

export type SchedulingRules = ReturnType<typeof schedulingRules>;

/** What the settings decide about scheduling; the values where there are none are Longhorn's own. */
export function schedulingRules(settings: readonly LonghornSetting[], engine: DataEngine) {
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
    /** Whether a volume that asks for no tags may go where there are some. */
    anyNodeTags: flag("allow-empty-node-selector-volume", true),
    anyDiskTags: flag("allow-empty-disk-selector-volume", true),
    /** Settings that cannot be read; their defaults hold. */
    unreadable,
  };
}

function ofEngine(value: string, engine: DataEngine): string {
  if (!value.startsWith("{")) return value;
  const read = parseJson(value);
  return read === undefined ? value : String(fieldsOf(read)[engine]);
}
