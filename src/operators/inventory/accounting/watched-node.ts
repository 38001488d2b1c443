/** What is kept of a node: its resources, why it may not be sold, and those of its labels that are ours to write. */
import { conditionHolds, fieldsOf, listOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { isCapabilityLabel } from "../../../kube/node-labels.ts";
import type { NotOffered, ResourceAmounts } from "../inventory.ts";
import { devicesIn, partsIn, podLimitIn, readAmounts, renamedIn, wholeResources } from "./resources.ts";

export type ProjectedNode = ReturnType<typeof projectNode>;

export function projectNode(node: KubeObject) {
  const { name, uid, labels = {} } = node.metadata;
  const status = fieldsOf(node["status"]);
  const problems: string[] = [];
  const read = (what: string) => readAmounts(status[what], what, (problem) => void problems.push(problem));
  const capacity = read("capacity");
  const allocatable = read("allocatable");
  const hasStatus = Object.keys(fieldsOf(status["allocatable"])).length > 0;
  return {
    name,
    uid,
    capacity: wholeResources(capacity),
    allocatable: wholeResources(allocatable),
    /** By vendor: counted and allocatable devices of its plugin, and resources that are parts of GPUs. */
    gpuDevicesCounted: devicesIn(capacity),
    gpuDevices: devicesIn(allocatable),
    gpuParts: partsIn(status["capacity"]),
    gpuRenamed: renamedIn(status["capacity"]),
    podLimit: podLimitIn(allocatable),
    hasStatus,
    notOffered: notOffered(node, hasStatus),
    attached: attachedVolumes(status["volumesAttached"]),
    /** Of the families that we write, by any writer. */
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => isCapabilityLabel(key))),
    problem: problems[0],
  };
}

const notReady: NotOffered = { type: "NotReady", message: "not ready" };
const cordoned: NotOffered = { type: "Cordoned", message: "cordoned" };

/** Node conditions that keep a node from being offered. */
const pressures = {
  MemoryPressure: { type: "Trouble", message: "under memory pressure" },
  DiskPressure: { type: "Trouble", message: "under disk pressure" },
  PIDPressure: { type: "Trouble", message: "under PID pressure" },
  NetworkUnavailable: { type: "Trouble", message: "without network" },
} as const satisfies Record<string, NotOffered>;

/** Taints that Kubernetes derives from node conditions, a moment later. */
const ownTaints: Readonly<Record<string, NotOffered>> = {
  "node.kubernetes.io/not-ready": notReady,
  "node.kubernetes.io/unreachable": notReady,
  "node.kubernetes.io/memory-pressure": pressures.MemoryPressure,
  "node.kubernetes.io/disk-pressure": pressures.DiskPressure,
  "node.kubernetes.io/pid-pressure": pressures.PIDPressure,
  "node.kubernetes.io/network-unavailable": pressures.NetworkUnavailable,
  "node.kubernetes.io/unschedulable": cordoned,
};

function notOffered(node: KubeObject, hasStatus: boolean): NotOffered[] {
  const is = (type: string) => conditionHolds(fieldsOf(node["status"])["conditions"], type);
  const { unschedulable, taints } = fieldsOf(node["spec"]);
  const found = new Set<NotOffered>();
  if (!hasStatus) found.add({ type: "Trouble", message: "without a status" });
  if (!is("Ready")) found.add(notReady);
  for (const [type, reason] of Object.entries(pressures)) if (is(type)) found.add(reason);
  if (unschedulable === true) found.add(cordoned);
  for (const reason of recordsOf(taints).flatMap(taintReason)) found.add(reason);
  if (node.metadata.deletionTimestamp !== undefined) found.add({ type: "BeingDeleted", message: "being deleted" });
  return [...found];
}

/** Tenants' workloads tolerate no taint. */
function taintReason({ key, value, effect }: Readonly<Record<string, unknown>>): NotOffered[] {
  if (effect !== "NoSchedule" && effect !== "NoExecute") return [];
  const name = textOf(key) ?? "";
  const shown = `${name}${value ? `=${value}` : ""}:${effect}`;
  const message = `tainted ${shown}, which workloads of tenants do not tolerate`;
  return [ownTaints[name] ?? { type: "Tainted", message }];
}

/** By CSI driver. */
export type VolumesByDriver = ReadonlyMap<string, bigint>;

export const noAttachedVolumes: VolumesByDriver = new Map();

/** From a CSINode; drivers without a limit are not in it. */
export function volumeLimits(csiNode: KubeObject): VolumesByDriver {
  const limits = new Map<string, bigint>();
  for (const driver of recordsOf(fieldsOf(csiNode["spec"])["drivers"])) {
    const name = textOf(driver["name"]);
    const count = fieldsOf(driver["allocatable"])["count"];
    if (name !== undefined && Number.isSafeInteger(count) && Number(count) >= 0)
      limits.set(name, BigInt(Number(count)));
  }
  return limits;
}

/** From `status.volumesAttached`, where a volume is called "kubernetes.io/csi/rbd.csi.ceph.com^handle". */
export function attachedVolumes(volumesAttached: unknown): VolumesByDriver {
  const volumes = listOf(volumesAttached);
  if (volumes.length === 0) return noAttachedVolumes;
  const attached = new Map<string, bigint>();
  for (const volume of volumes) {
    const name = textOf(fieldsOf(volume)["name"]) ?? "";
    const driver = /^kubernetes\.io\/csi\/([^^]+)\^/.exec(name)?.[1] ?? "";
    attached.set(driver, (attached.get(driver) ?? 0n) + 1n);
  }
  return attached;
}

/** A driver without a limit counts as full. */
export function volumeAmounts(attached: VolumesByDriver, limits: VolumesByDriver): ResourceAmounts {
  const sum = (counts: Iterable<bigint>) => Iterator.from(counts).reduce((total, count) => total + count, 0n);
  const capacity = sum(new Map([...attached, ...limits]).values());
  return { capacity, allocatable: capacity, allocated: sum(attached.values()) };
}
