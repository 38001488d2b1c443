/**
 * Storage classes, their volumes, and amounts. Volumes are thin: `allocated` is what was promised, `allocatable` adds
 * the room that is left when all promises are kept. Classes that share a room are offered equal parts of it. A
 * PersistentVolume counts while it exists, in whatever phase, also when its class is gone.
 */

import { fieldsOf, listOf, recordsOf } from "../../../kube/json-fields.ts";
import type { Kind } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { formatBytes, parseBytes } from "../../../market/quantity.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Caches } from "../conditions.ts";
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import { assertSound, type NodeInventory, type ResourceAmounts, type StorageInventory } from "../inventory.ts";

export interface StorageBackend {
  readonly needed: Caches;
  readonly caches: Caches;
  /** `sold` are all of this backend, this one included: some may draw from the same disks. */
  inventory(storageClass: StorageClass, volumes: VolumeSums, sold: readonly StorageClass[]): StorageInventory;
  close(): Promise<void>;
}

interface BackendSpace {
  readonly capacity: bigint;
  /** Negative when more was promised than can ever be kept. */
  readonly free: bigint;
  readonly sharers?: readonly string[];
  readonly replicas?: number | undefined;
  readonly performance?: string | undefined;
  readonly conditions?: readonly Condition[];
}

export function inventoryOf(
  { name, provisioner }: StorageClass,
  driver: Driver,
  volumes: VolumeSums,
  space: BackendSpace,
): StorageInventory {
  const allocated = promisedOf(volumes, name);
  const { capacity, sharers = [], replicas, performance, conditions = [] } = space;
  // A debt is not shared: each class shows all that is missing.
  const free = space.free > 0n ? space.free / BigInt(1 + sharers.length) : space.free;
  const allocatable = allocated + free > 0n ? allocated + free : 0n;
  const bytes: ResourceAmounts = { capacity, allocatable, allocated };
  const all = [
    ...conditions,
    ...(sharers.length > 0 ? [roomShared(sharers)] : []),
    ...(free < 0n ? [overbooked(allocated, -free)] : []),
  ];
  assertSound(name, [bytes], all);
  const facts = { ...(replicas !== undefined && { replicas }), ...(performance !== undefined && { performance }) };
  return { class: name, driver, provisioner, bytes, ...facts, conditions: all };
}

function roomShared(sharers: readonly string[]): Condition {
  const message =
    `${sharers.join(", ")} ${sharers.length === 1 ? "lies" : "lie"} on the same disks, so each of the ${sharers.length + 1} ` +
    "is offered an equal part of what is left; to offer more of one, take the others from cluster_storage or give them " +
    "disks of their own";
  return condition("RoomShared", message);
}

function overbooked(allocated: bigint, missing: bigint): Condition {
  const message = `volumes of ${formatBytes(allocated)} were promised, and ${formatBytes(missing)} are missing to keep all promises`;
  return condition("Overbooked", message);
}

/** The class is shown, and nothing of it is sold. */
export function unreadable(
  { name, provisioner }: StorageClass,
  driver: Driver,
  volumes: VolumeSums,
  message: string,
): StorageInventory {
  const bytes = { capacity: 0n, allocatable: 0n, allocated: promisedOf(volumes, name) };
  return { class: name, driver, provisioner, bytes, conditions: [storageUnreadable(message)] };
}

function promisedOf({ ofClass }: VolumeSums, name: string): bigint {
  return ofClass.get(name)?.bytes ?? 0n;
}

export function storageUnreadable(message: string): Condition {
  return condition("StorageUnreadable", message);
}

export type NodeDisk = Pick<NodeInventory, "name" | "offered" | "storageClasses" | "ephemeralBytes">;

/**
 * Rancher local-path: volumes are folders on a node's disk, which ephemeral storage shares. The class has of each node
 * what is free for pods; where it has a disk of its own, the node's disk stands for it.
 */
export function localPathInventory(
  storageClass: StorageClass,
  nodes: Iterable<NodeDisk>,
  volumes: VolumeSums,
): StorageInventory {
  const conditions: Condition[] = [diskShared];
  let capacity = 0n;
  let free = 0n;
  for (const { name, offered, storageClasses, ephemeralBytes } of nodes) {
    // Excluded by the configuration. A node that is not offered lists no class at all.
    if (offered && !storageClasses.includes(storageClass.name)) continue;
    capacity += ephemeralBytes.capacity;
    if (!offered) continue;
    const room = ephemeralBytes.allocatable - ephemeralBytes.allocated;
    if (room > 0n) free += room;
    if (room < 0n)
      conditions.push(
        condition("Overbooked", `the disk of ${name} is overbooked; the node's condition names the pods`),
      );
  }
  return inventoryOf(storageClass, "local-path", volumes, {
    capacity,
    free: free - volumes.onSomeNode,
    replicas: 1,
    conditions,
  });
}

const diskShared = condition(
  "RoomShared",
  "its volumes lie on the disks that ephemeral storage comes from, so of each disk both are offered an equal part of " +
    "what is left; exclude.node_storage keeps the class from a node",
);

type Driver = StorageInventory["driver"];

/** strconv.ParseBool, as in the network's operator. */
const trueTexts = ["1", "t", "T", "true", "True", "TRUE"];

export type StorageClass = ReturnType<typeof readStorageClass>;

export function readStorageClass(object: KubeObject) {
  const { name, labels, annotations, creationTimestamp } = object.metadata;
  return {
    name,
    provisioner: nonEmptyOf(object["provisioner"]) ?? "",
    parameters: fieldsOf(object["parameters"]),
    labelled: trueTexts.includes(labels?.["akash.network"] ?? ""),
    isDefault: defaultMarks.some((mark) => fieldsOf(annotations)[mark] === "true"),
    madeAt: creationTimestamp ?? "",
  };
}

/** The API server still reads the second one. */
const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Of several, the API server takes the newest, and of those made in the same second the first by name. */
export function defaultClassOf(classes: Iterable<StorageClass>): string | undefined {
  const [first, ...others] = [...classes].filter(({ isDefault }) => isDefault);
  const isBefore = (one: StorageClass, other: StorageClass) =>
    one.madeAt === other.madeAt ? one.name < other.name : one.madeAt > other.madeAt;
  return first && others.reduce((best, each) => (isBefore(each, best) ? each : best), first).name;
}

/** Undefined for backends that we cannot read. */
export function driverOf({ provisioner }: Pick<StorageClass, "provisioner">): Driver | undefined {
  if (provisioner === "rancher.io/local-path") return "local-path";
  if (provisioner === "driver.longhorn.io") return "longhorn";
  return provisioner.endsWith(".csi.ceph.com") ? "ceph" : undefined;
}

/** With erasure coding `pool` holds only the names, and `dataPool` the data. */
export function poolOf(parameters: Readonly<Record<string, unknown>>): string | undefined {
  return nonEmptyOf(parameters["dataPool"]) ?? nonEmptyOf(parameters["pool"]);
}

/**
 * Classes are sold that the configuration lists and that carry the label akash.network=true; one without the other is
 * reported. An empty list sells nothing.
 */
export function soldClasses(
  classes: ReadonlyMap<string, StorageClass>,
  { clusterStorage }: Pick<InventoryConfig, "clusterStorage">,
  volumes: VolumeSums,
): { readonly sold: readonly StorageClass[]; readonly conditions: readonly Condition[] } {
  const sold: StorageClass[] = [];
  const conditions: Condition[] = [];
  const notSold = (message: string) => conditions.push(condition("StorageNotSold", message));
  for (const name of clusterStorage) {
    // The network's chart lists "ram", which is shared memory.
    if (name === "ram") continue;
    const storageClass = classes.get(name);
    if (!storageClass) notSold(`the class ${name} is configured, but does not exist${leftBehind(volumes, name)}`);
    else if (!storageClass.labelled) notSold(`the class ${name} is configured, but lacks the label akash.network=true`);
    else if (!driverOf(storageClass))
      notSold(`the class ${name} is provisioned by ${storageClass.provisioner}, which is not supported`);
    else sold.push(storageClass);
  }
  for (const { name, labelled } of classes.values()) {
    if (!labelled || clusterStorage.includes(name)) continue;
    notSold(`the class ${name} carries the label akash.network, but cluster_storage of the configuration lacks it`);
  }
  return { sold, conditions };
}

function leftBehind({ ofClass }: VolumeSums, name: string): string {
  const left = ofClass.get(name);
  return left ? `; ${left.count} of its volumes still hold space` : "";
}

type PersistentVolume = ReturnType<typeof readVolume>;

export function readVolume(object: KubeObject) {
  const { name } = object.metadata;
  const annotations = fieldsOf(object.metadata.annotations);
  const spec = fieldsOf(object["spec"]);
  const csi = fieldsOf(spec["csi"]);
  const attributes = fieldsOf(csi["volumeAttributes"]);
  return {
    name,
    class: nonEmptyOf(spec["storageClassName"]) ?? nonEmptyOf(annotations["volume.beta.kubernetes.io/storage-class"]),
    bytes: bytesOf(fieldsOf(spec["capacity"])["storage"]),
    provisioner: nonEmptyOf(csi["driver"]) ?? nonEmptyOf(annotations["pv.kubernetes.io/provisioned-by"]),
    /** Written by Ceph's driver. */
    clusterId: nonEmptyOf(attributes["clusterID"]),
    pool: poolOf(attributes),
    /** Of volumes on a node's disk. */
    node: nonEmptyOf(annotations["local.path.provisioner/selected-node"]) ?? pinnedTo(spec["nodeAffinity"]),
  };
}

function bytesOf(quantity: unknown): bigint | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  try {
    return parseBytes(String(quantity));
  } catch (thrown) {
    if (thrown instanceof ProviderError) return undefined;
    throw thrown;
  }
}

function pinnedTo(affinity: unknown): string | undefined {
  const terms = recordsOf(fieldsOf(fieldsOf(affinity)["required"])["nodeSelectorTerms"]);
  const names = terms
    .flatMap((term) => recordsOf(term["matchExpressions"]))
    .filter(({ key, operator }) => key === "kubernetes.io/hostname" && operator === "In")
    .flatMap(({ values }) => listOf(values));
  return names.length === 1 ? nonEmptyOf(names[0]) : undefined;
}

export type VolumeSums = ReturnType<typeof sumVolumes>;

export function sumVolumes(volumes: Iterable<PersistentVolume>, classes: ReadonlyMap<string, StorageClass>) {
  const ofClass = new Map<string, { bytes: bigint; count: number }>();
  const ofPools = new Map<string, PoolVolumes>();
  /** All volumes of local-path, of whatever class, by node; and those whose node is not known. */
  const onNode = new Map<string, bigint>();
  let onSomeNode = 0n;
  const sizeless: string[] = [];
  for (const volume of volumes) {
    const { bytes } = volume;
    if (bytes === undefined) {
      sizeless.push(volume.name);
      continue;
    }
    const ownClass = classes.get(volume.class ?? "");
    if (volume.class !== undefined) {
      const before = ofClass.get(volume.class) ?? { bytes: 0n, count: 0 };
      ofClass.set(volume.class, { bytes: before.bytes + bytes, count: before.count + 1 });
    }
    const driver = driverOf({ provisioner: volume.provisioner ?? ownClass?.provisioner ?? "" });
    if (driver === "ceph") addToPool(ofPools, volume, bytes, ownClass);
    if (driver !== "local-path") continue;
    if (volume.node === undefined) onSomeNode += bytes;
    else onNode.set(volume.node, (onNode.get(volume.node) ?? 0n) + bytes);
  }
  return { ofClass, ofPools: [...ofPools.values()], onNode, onSomeNode, sizeless };
}

interface PoolVolumes {
  readonly clusterId: string;
  readonly pool: string;
  readonly bytes: bigint;
}

/** A volume that the driver did not make may lack its attributes; then those of its class count. */
function addToPool(
  pools: Map<string, PoolVolumes>,
  volume: PersistentVolume,
  bytes: bigint,
  ownClass: StorageClass | undefined,
): void {
  const pool = volume.pool ?? poolOf(ownClass?.parameters ?? {});
  const clusterId = volume.clusterId ?? nonEmptyOf(ownClass?.parameters["clusterID"]);
  if (pool === undefined || clusterId === undefined) return;
  const key = `${clusterId}/${pool}`;
  pools.set(key, { clusterId, pool, bytes: (pools.get(key)?.bytes ?? 0n) + bytes });
}

/** One without a size takes space that is not counted. */
export function unreadableVolumes({ sizeless: [first, ...others] }: VolumeSums): Condition[] {
  if (first === undefined) return [];
  const message = `${1 + others.length} volumes have no readable size and are not counted, for instance ${first}`;
  return [condition("VolumeUnreadable", message)];
}

/** To Kubernetes an empty string is as good as none. */
export function nonEmptyOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function wordsOf(value: unknown): string[] {
  return listOf(value).filter((entry) => typeof entry === "string");
}

/** A count of bytes or pieces: whole, not negative, and small enough to be exact in JSON. */
export function wholeNumberOf(value: unknown): bigint | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? BigInt(Number(value)) : undefined;
}

const rook = { group: "ceph.rook.io", version: "v1", namespaced: true } as const;
const longhorn = { group: "longhorn.io", version: "v1beta2", namespaced: true } as const;

export const storageKinds = {
  cephCluster: { ...rook, kind: "CephCluster", plural: "cephclusters" },
  cephBlockPool: { ...rook, kind: "CephBlockPool", plural: "cephblockpools" },
  cephFilesystem: { ...rook, kind: "CephFilesystem", plural: "cephfilesystems" },
  longhornNode: { ...longhorn, kind: "Node", plural: "nodes" },
  longhornVolume: { ...longhorn, kind: "Volume", plural: "volumes" },
  longhornSetting: { ...longhorn, kind: "Setting", plural: "settings" },
} as const satisfies Record<string, Kind>;
