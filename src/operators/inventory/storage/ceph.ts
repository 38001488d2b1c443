/**
 * Rook-Ceph: `max_avail` is what a pool has free net of copies, before outstanding promises: the room is max_avail −
 * (promised − stored), never more than max_avail. Pools on the same disks each report all of it, so another pool's
 * unwritten promises take the same share of ours as of its own.
 */
import { fieldsOf, recordsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { largest } from "../../../runtime/bigint.ts";
import { formatTime } from "../../../runtime/clock.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { waitingFor } from "../conditions.ts";
import type { StorageInventory } from "../inventory.ts";
import {
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
type Place = Exclude<ReturnType<typeof placeOf>, string>;

export function readCephCluster({ metadata: { name, namespace = "" } }: KubeObject) {
  return { name, namespace };
}

export function readCephPool(object: KubeObject): CephPool {
  const { name, namespace = "" } = object.metadata;
  const spec = fieldsOf(object["spec"]);
  // spec.name is set where Kubernetes does not take the pool's name, as ".mgr".
  return poolFrom(spec, namespace, nonEmptyOf(spec["name"]) ?? name);
}

/** Its data pools, named as Rook names them; no class uses the metadata pool. */
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
  const { cluster, poolName, use, df, error, atMs = 0 } = place;
  const pool = poolNamed(poolName, cluster, view);
  const [deviceClass, ...others] = df.deviceClasses;
  return inventoryOf(storageClass, "ceph", view.volumes, {
    capacity: use.storedBytes + use.maxAvailBytes,
    free: freeOf(place, view),
    sharers: view.sold.filter((other) => sharesDisks(storageClass, place, other, view)).map(({ name }) => name),
    replicas: pool?.replicas,
    performance: pool?.deviceClass ?? (others.length > 0 ? undefined : deviceClass),
    conditions: error ? [storageUnreadable(`${error.message}; these numbers are of ${formatTime(atMs)}`)] : [],
  });
}

function placeOf({ parameters }: StorageClass, view: CephView) {
  const clusterId = nonEmptyOf(parameters["clusterID"]);
  const poolName = poolOf(parameters);
  if (clusterId === undefined) return "the class has no parameter clusterID";
  if (poolName === undefined) return "the class has no parameter pool";
  const cluster = clusterOf(view.clusters, clusterId);
  if (!cluster) return `there is no CephCluster in the namespace ${clusterId}`;
  const { df, error, atMs } = view.reading(cluster.namespace) ?? {};
  if (!df) return error?.message ?? `Ceph in ${cluster.namespace} was not read yet`;
  const use = df.pools.get(poolName);
  if (!use) return `Ceph in ${cluster.namespace} reports no pool ${poolName}`;
  return { cluster, poolName, use, df, error, atMs };
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

/** A pool without a device class lies on all disks, and so may one that Rook does not manage. */
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
function unwrittenOf({ namespace }: CephCluster, poolName: string, { storedBytes }: PoolUse, view: CephView): bigint {
  const promised = view.volumes.ofPools
    .filter(({ pool, clusterId }) => pool === poolName && clusterOf(view.clusters, clusterId)?.namespace === namespace)
    .reduce((sum, { bytes }) => sum + bytes, 0n);
  return largest(0n, promised - storedBytes);
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
      // Rook rewrites a cluster's status once a minute, when it has read Ceph.
      usage.wake();
      if (type !== "modified") changed();
    },
  });
  const pools = kube.watch({ kind: storageKinds.cephBlockPool, project: readCephPool, handle: changed });
  const filesystems = kube.watch({ kind: storageKinds.cephFilesystem, project: readCephFilesystem, handle: changed });
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
  const pooled = { "the block pools of Rook": pools, "the filesystems of Rook": filesystems };
  return {
    needed,
    caches: { ...needed, ...pooled, "toolbox pods": toolboxes },
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
      return usage.failures;
    },
    async close(): Promise<void> {
      await Promise.all([clusters, pools, filesystems, toolboxes, usage].map((each) => each.close()));
    },
  };
}
