/**
 * Rook-Ceph: a class names a cluster and a pool, `ceph df` says how full that is.
 *
 * A pool's `max_avail` is what is free when no promise is kept back, net of copies. Its volumes have already written
 * `stored` of what they were promised, and will write the rest out of it. So the room is max_avail − (promised − stored).
 * What is stored beyond all promises is somebody else's (snapshots, images of no volume) and makes no room: the room is
 * never more than Ceph itself says.
 */
import { fieldsOf, listOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { formatTime } from "../../../runtime/clock.ts";
import type { Condition, StorageInventory } from "../inventory.ts";
import type { PoolUse } from "./ceph-df.ts";
import type { CephReading } from "./ceph-usage.ts";
import { wholeOf, wordOf } from "./fields.ts";
import { inventoryOf, storageUnreadable, unreadable } from "./room.ts";
import { poolOf, type StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

export interface CephCluster {
  readonly name: string;
  readonly namespace: string;
}

export function readCephCluster({ metadata: { name, namespace = "" } }: KubeObject): CephCluster {
  return { name, namespace };
}

export interface CephPool {
  readonly namespace: string;
  readonly name: string;
  /** Absent with erasure coding, which keeps no copies. */
  readonly replicas: number | undefined;
  readonly deviceClass: string | undefined;
}

export function readCephPool(object: KubeObject): CephPool {
  const { name, namespace = "" } = object.metadata;
  const spec = fieldsOf(object["spec"]);
  // Rook gives pools another name where Kubernetes would not take theirs, as of ".mgr".
  return poolFrom(spec, namespace, wordOf(spec["name"]) ?? name);
}

/** The pools that its files lie in, named as Rook names them. The one of names and folders is no class's. */
export function readCephFilesystem(object: KubeObject): CephPool[] {
  const { name: filesystem, namespace = "" } = object.metadata;
  const { dataPools, preservePoolNames } = fieldsOf(object["spec"]);
  return listOf(dataPools)
    .map(fieldsOf)
    .map((spec, index) => {
      const name = wordOf(spec["name"]);
      const asWritten = preservePoolNames === true ? name : undefined;
      return poolFrom(spec, namespace, asWritten ?? `${filesystem}-${name ?? `data${index}`}`);
    });
}

function poolFrom(spec: Readonly<Record<string, unknown>>, namespace: string, name: string): CephPool {
  const size = wholeOf(fieldsOf(spec["replicated"])["size"]) ?? 0n;
  return {
    namespace,
    name,
    replicas: size > 0n ? Number(size) : undefined,
    deviceClass: wordOf(spec["deviceClass"]),
  };
}

export interface CephView {
  readonly clusters: readonly CephCluster[];
  readonly pools: readonly CephPool[];
  reading(namespace: string): CephReading | undefined;
  readonly volumes: VolumeSums;
}

/** A class's clusterID is the namespace of its cluster; some setups put the cluster's name there. */
export function clusterOf(clusters: readonly CephCluster[], clusterId: string): CephCluster | undefined {
  return clusters.find(({ namespace }) => namespace === clusterId) ?? clusters.find(({ name }) => name === clusterId);
}

export function cephInventory(storageClass: StorageClass, view: CephView): StorageInventory {
  const allocated = view.volumes.ofClass.get(storageClass.name)?.bytes ?? 0n;
  const unknown = (message: string) => unreadable(storageClass, "ceph", allocated, message);
  const clusterId = wordOf(storageClass.parameters["clusterID"]);
  const poolName = poolOf(storageClass.parameters);
  if (clusterId === undefined) return unknown("the class has no parameter clusterID");
  if (poolName === undefined) return unknown("the class has no parameter pool");
  const cluster = clusterOf(view.clusters, clusterId);
  if (!cluster) return unknown(`there is no CephCluster in the namespace ${clusterId}`);
  const reading = view.reading(cluster.namespace);
  if (!reading?.df) return unknown(reading?.trouble?.message ?? `Ceph in ${cluster.namespace} was not asked yet`);
  const use = reading.df.pools.get(poolName);
  if (!use) return unknown(`Ceph in ${cluster.namespace} tells nothing about the pool ${poolName}`);

  const pool = view.pools.find(({ namespace, name }) => namespace === cluster.namespace && name === poolName);
  const performance = pool?.deviceClass ?? onlyOne(reading.df.deviceClasses);
  return inventoryOf(storageClass, "ceph", allocated, {
    capacity: use.storedBytes + use.maxAvailBytes,
    free: freeOf(use, promisedOf(cluster, poolName, view)),
    ...(pool?.replicas === undefined ? {} : { replicas: pool.replicas }),
    ...(performance === undefined ? {} : { performance }),
    conditions: staleness(reading),
  });
}

/** Of all classes of the pool, those that are gone included. */
function promisedOf({ namespace }: CephCluster, poolName: string, { clusters, volumes }: CephView): bigint {
  return volumes.ofPools
    .filter(({ pool, clusterId }) => pool === poolName && clusterOf(clusters, clusterId)?.namespace === namespace)
    .reduce((sum, { bytes }) => sum + bytes, 0n);
}

function freeOf({ storedBytes, maxAvailBytes }: PoolUse, promised: bigint): bigint {
  const written = storedBytes < promised ? storedBytes : promised;
  return maxAvailBytes - (promised - written);
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function staleness({ trouble, atMs = 0 }: CephReading): Condition[] {
  return trouble ? [storageUnreadable(`${trouble.message}; these numbers are of ${formatTime(atMs)}`)] : [];
}
