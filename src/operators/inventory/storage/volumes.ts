/**
 * The volumes of the cluster and what they hold. A volume counts as long as its PersistentVolume exists, in whatever
 * phase: one that is Released or Failed was not given back, its image or folder is still there. It counts for its class
 * even when that class is gone, so a class that comes back has not forgotten them.
 */
import { fieldsOf, listOf, recordsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { parseBytes } from "../../../market/quantity.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { wordOf } from "./fields.ts";
import { driverOf, poolOf, type StorageClass } from "./storage-class.ts";

type PersistentVolume = ReturnType<typeof readVolume>;

export function readVolume(object: KubeObject) {
  const { name } = object.metadata;
  const annotations = fieldsOf(object.metadata.annotations);
  const spec = fieldsOf(object["spec"]);
  const csi = fieldsOf(spec["csi"]);
  const attributes = fieldsOf(csi["volumeAttributes"]);
  return {
    name,
    class: wordOf(spec["storageClassName"]) ?? wordOf(annotations["volume.beta.kubernetes.io/storage-class"]),
    /** Absent where the object does not say it in a way one can read. */
    bytes: bytesOf(fieldsOf(spec["capacity"])["storage"]),
    /** Who made it. */
    provisioner: wordOf(csi["driver"]) ?? wordOf(annotations["pv.kubernetes.io/provisioned-by"]),
    /** Of Ceph, as its driver noted it when it made the volume. */
    clusterId: wordOf(attributes["clusterID"]),
    pool: poolOf(attributes),
    /** The one node that has it, of volumes that live on a node's disk. */
    node: wordOf(annotations["local.path.provisioner/selected-node"]) ?? pinnedTo(spec["nodeAffinity"]),
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

/** Its only node, where it has one. */
function pinnedTo(affinity: unknown): string | undefined {
  const terms = recordsOf(fieldsOf(fieldsOf(affinity)["required"])["nodeSelectorTerms"]);
  const names = terms
    .flatMap((term) => recordsOf(term["matchExpressions"]))
    .filter(({ key, operator }) => key === "kubernetes.io/hostname" && operator === "In")
    .flatMap(({ values }) => listOf(values));
  return names.length === 1 ? wordOf(names[0]) : undefined;
}

export type VolumeSums = ReturnType<typeof sumVolumes>;

/** A cache holds a name once, and a volume made anew under its name takes the old one's place: each counts once. */
export function sumVolumes(volumes: Iterable<PersistentVolume>, classes: ReadonlyMap<string, StorageClass>) {
  const ofClass = new Map<string, { bytes: bigint; count: number }>();
  /** All volumes of a pool of Ceph, of whatever class. */
  const ofPools = new Map<string, PoolVolumes>();
  /** All volumes that local-path made on a node's disk, of whatever class; and the same where the node is not known. */
  const onNode = new Map<string, bigint>();
  let onSomeNode = 0n;
  /** Names of volumes without a size one can read. */
  const sizeless: string[] = [];
  for (const volume of volumes) {
    const { bytes } = volume;
    if (bytes === undefined) {
      sizeless.push(volume.name);
      continue;
    }
    const ownClass = volume.class === undefined ? undefined : classes.get(volume.class);
    if (volume.class !== undefined) {
      const before = ofClass.get(volume.class) ?? { bytes: 0n, count: 0 };
      ofClass.set(volume.class, { bytes: before.bytes + bytes, count: before.count + 1 });
    }
    const driver = driverOf({ provisioner: volume.provisioner ?? ownClass?.provisioner ?? "" });
    if (driver === "ceph") addToPool(ofPools, volume, bytes, ownClass);
    if (driver === "local-path" && volume.node === undefined) onSomeNode += bytes;
    if (driver === "local-path" && volume.node !== undefined) {
      onNode.set(volume.node, (onNode.get(volume.node) ?? 0n) + bytes);
    }
  }
  return { ofClass, ofPools: [...ofPools.values()], onNode, onSomeNode, sizeless };
}

interface PoolVolumes {
  readonly clusterId: string;
  readonly pool: string;
  readonly bytes: bigint;
}

/** A volume that was not made by the driver may lack its notes; then its class knows. */
function addToPool(
  pools: Map<string, PoolVolumes>,
  volume: PersistentVolume,
  bytes: bigint,
  ownClass: StorageClass | undefined,
): void {
  const pool = volume.pool ?? poolOf(ownClass?.parameters ?? {});
  const clusterId = volume.clusterId ?? wordOf(ownClass?.parameters["clusterID"]);
  if (pool === undefined || clusterId === undefined) return;
  const key = `${clusterId}/${pool}`;
  pools.set(key, { clusterId, pool, bytes: (pools.get(key)?.bytes ?? 0n) + bytes });
}
