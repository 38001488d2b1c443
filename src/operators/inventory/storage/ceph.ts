/**
 * Rook-Ceph: `max_avail` is what a pool has free net of copies, before outstanding promises: the room is max_avail −
 * (promised − stored), never more than max_avail. Pools on the same disks each report all of it, so another pool's
 * unwritten promises take the same share of ours as of its own.
 */
import { fieldsOf, recordsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { formatTime } from "../../../runtime/clock.ts";
import type { Condition } from "../../../runtime/condition.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { waitingFor } from "../conditions.ts";
import type { StorageInventory } from "../inventory.ts";
import {
  type CephDf,
  type CephReading,
  createCephUsage,
  type PoolUse,
  readToolbox,
  type Toolbox,
  toolboxSelector,
} from "./ceph-usage.ts";
import {
  driverOf,
  inventoryOf,
  nonEmptyOf,
  poolOf,
  type StorageClass,
  storageKinds,
  storageUnreadable,
  unreadable,
  type VolumeSums,
  wholeNumberOf,
} from "./classes.ts";

type CephCluster = ReturnType<typeof readCephCluster>;
type CephPool = ReturnType<typeof poolFrom>;

export function readCephCluster({ metadata: { name, namespace = "" } }: KubeObject) {
  return { name, namespace };
}

export function readCephPool(object: KubeObject): CephPool {
  const { name, namespace = "" } = object.metadata;
  const spec = fieldsOf(object["spec"]);
  // Rook gives pools another name where Kubernetes would not take theirs, as of ".mgr".
  return poolFrom(spec, namespace, nonEmptyOf(spec["name"]) ?? name);
}

/** The pools that its files lie in, named as Rook names them. The one of names and folders is no class's. */
export function readCephFilesystem(object: KubeObject): CephPool[] {
  const { name: filesystem, namespace = "" } = object.metadata;
  const { dataPools, preservePoolNames } = fieldsOf(object["spec"]);
  return recordsOf(dataPools).map((spec, index) => {
    const name = nonEmptyOf(spec["name"]);
    const asWritten = preservePoolNames === true ? name : undefined;
    return poolFrom(spec, namespace, asWritten ?? `${filesystem}-${name ?? `data${index}`}`);
  });
}

function poolFrom(spec: Readonly<Record<string, unknown>>, namespace: string, name: string) {
  const size = wholeNumberOf(fieldsOf(spec["replicated"])["size"]) ?? 0n;
  return {
    namespace,
    name,
    /** Absent with erasure coding, which keeps no copies. */
    replicas: size > 0n ? Number(size) : undefined,
    deviceClass: nonEmptyOf(spec["deviceClass"]),
  };
}

interface CephView {
  readonly clusters: readonly CephCluster[];
  readonly pools: readonly CephPool[];
  reading(namespace: string): CephReading | undefined;
  readonly volumes: VolumeSums;
  readonly sold: readonly StorageClass[];
}

/** A class's clusterID is the namespace of its cluster; some setups put the cluster's name there. */
export function clusterOf(clusters: readonly CephCluster[], clusterId: string): CephCluster | undefined {
  return clusters.find(({ namespace }) => namespace === clusterId) ?? clusters.find(({ name }) => name === clusterId);
}

export function cephInventory(storageClass: StorageClass, view: CephView): StorageInventory {
  const place = placeOf(storageClass, view);
  if (typeof place === "string") return unreadable(storageClass, "ceph", view.volumes, place);
  const { cluster, poolName, use, df, reading } = place;
  const pool = poolNamed(poolName, cluster, view);
  return inventoryOf(storageClass, "ceph", view.volumes, {
    capacity: use.storedBytes + use.maxAvailBytes,
    free: freeOf(place, view),
    sharers: view.sold.filter((other) => sharesDisks(storageClass, place, other, view)).map(({ name }) => name),
    replicas: pool?.replicas,
    performance: pool?.deviceClass ?? onlyOne(df.deviceClasses),
    conditions: staleness(reading),
  });
}

interface Place {
  readonly cluster: CephCluster;
  readonly poolName: string;
  readonly use: PoolUse;
  readonly df: CephDf;
  readonly reading: CephReading;
}

function placeOf({ parameters }: StorageClass, view: CephView): Place | string {
  const clusterId = nonEmptyOf(parameters["clusterID"]);
  const poolName = poolOf(parameters);
  if (clusterId === undefined) return "the class has no parameter clusterID";
  if (poolName === undefined) return "the class has no parameter pool";
  const cluster = clusterOf(view.clusters, clusterId);
  if (!cluster) return `there is no CephCluster in the namespace ${clusterId}`;
  const reading = view.reading(cluster.namespace);
  if (!reading?.df) return reading?.trouble?.message ?? `Ceph in ${cluster.namespace} was not asked yet`;
  const use = reading.df.pools.get(poolName);
  if (!use) return `Ceph in ${cluster.namespace} tells nothing about the pool ${poolName}`;
  return { cluster, poolName, use, df: reading.df, reading };
}

function poolNamed(poolName: string, { namespace }: CephCluster, { pools }: CephView): CephPool | undefined {
  return pools.find((pool) => pool.namespace === namespace && pool.name === poolName);
}

function sharesDisks(own: StorageClass, { cluster, poolName }: Place, other: StorageClass, view: CephView): boolean {
  if (other.name === own.name) return false;
  const place = placeOf(other, view);
  if (typeof place === "string" || place.cluster.namespace !== cluster.namespace) return false;
  return onSameDisks(poolName, place.poolName, cluster, view);
}

/** A pool without a class of disks lies on all of them, and so may one that Rook knows nothing of. */
function onSameDisks(poolName: string, other: string, cluster: CephCluster, view: CephView): boolean {
  const [one, two] = [poolName, other].map((name) => poolNamed(name, cluster, view)?.deviceClass);
  return poolName === other || one === undefined || two === undefined || one === two;
}

function freeOf({ cluster, poolName, use, df }: Place, view: CephView): bigint {
  let free = use.maxAvailBytes - unwrittenOf(cluster, poolName, use, view);
  for (const [name, other] of df.pools) {
    if (name === poolName || !onSameDisks(poolName, name, cluster, view)) continue;
    const unwritten = unwrittenOf(cluster, name, other, view);
    if (unwritten > 0n) free -= takenByOther(unwritten, other.maxAvailBytes, use.maxAvailBytes);
  }
  return free;
}

/** Rounded up. Where the other has nothing left for its promises, we have nothing left to give. */
function takenByOther(unwritten: bigint, othersRoom: bigint, ownRoom: bigint): bigint {
  return othersRoom === 0n ? ownRoom : (unwritten * ownRoom + othersRoom - 1n) / othersRoom;
}

/** What the volumes of a pool were promised and have not written yet. */
function unwrittenOf(cluster: CephCluster, poolName: string, { storedBytes }: PoolUse, view: CephView): bigint {
  const promised = promisedOf(cluster, poolName, view);
  return promised > storedBytes ? promised - storedBytes : 0n;
}

function promisedOf({ namespace }: CephCluster, poolName: string, { clusters, volumes }: CephView): bigint {
  return volumes.ofPools
    .filter(({ pool, clusterId }) => pool === poolName && clusterOf(clusters, clusterId)?.namespace === namespace)
    .reduce((sum, { bytes }) => sum + bytes, 0n);
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function staleness({ trouble, atMs = 0 }: CephReading): Condition[] {
  return trouble ? [storageUnreadable(`${trouble.message}; these numbers are of ${formatTime(atMs)}`)] : [];
}

interface CephBackendDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly kube: Pick<Kube, "watch" | "exec">;
  classes(): Iterable<StorageClass>;
  changed(): void;
}

export type CephBackend = ReturnType<typeof createCephBackend>;

export function createCephBackend({ kube, clock, log, classes, changed }: CephBackendDeps) {
  const clusters = kube.watch({
    kind: storageKinds.cephCluster,
    project: readCephCluster,
    handle({ type }) {
      // Rook rewrites a cluster's status once a minute, when it has looked at Ceph: then we look too.
      usage.wake();
      if (type !== "modified") changed();
    },
  });
  const pools = kube.watch({ kind: storageKinds.cephBlockPool, project: readCephPool, handle: changed });
  const filesystems = kube.watch({
    kind: storageKinds.cephFilesystem,
    project: readCephFilesystem,
    handle: changed,
  });
  const toolboxes = kube.watch({
    kind: kinds.pod,
    labelSelector: toolboxSelector,
    project: readToolbox,
    handle: () => usage.wake(),
  });

  function* namespaces(): Generator<string> {
    for (const storageClass of classes()) {
      const clusterId = nonEmptyOf(storageClass.parameters["clusterID"]);
      const ours = driverOf(storageClass) === "ceph" && clusterId !== undefined;
      const cluster = ours ? clusterOf([...clusters.list()], clusterId) : undefined;
      if (cluster) yield cluster.namespace;
    }
  }

  function toolbox(namespace: string): Toolbox {
    const pods = [...toolboxes.list()].filter((pod) => pod.ready && pod.namespace === namespace);
    const [first] = pods.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (first) return first;
    throw new Error(waitingFor({ "toolbox pods": toolboxes }) ?? "no toolbox pod is ready there");
  }

  const usage = createCephUsage({ kube, clock, log, namespaces, toolbox, changed });
  const needed = { "the clusters of Rook": clusters };
  return {
    needed,
    caches: {
      ...needed,
      "the block pools of Rook": pools,
      "the filesystems of Rook": filesystems,
      "toolbox pods": toolboxes,
    },
    inventory: (storageClass: StorageClass, volumes: VolumeSums, sold: readonly StorageClass[]) =>
      cephInventory(storageClass, {
        clusters: [...clusters.list()],
        pools: [...pools.list(), ...[...filesystems.list()].flat()],
        reading: usage.of,
        volumes,
        sold,
      }),
    wake: usage.wake,
    get failures() {
      return usage.counts.failed;
    },
    async close(): Promise<void> {
      await Promise.all([clusters, pools, filesystems, toolboxes, usage].map((each) => each.close()));
    },
  };
}
