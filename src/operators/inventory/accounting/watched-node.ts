/** What is kept of a node object: what it has, why it may not be sold, and those of its labels that are ours to write. */
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
    /** By vendor: devices that its plugin counts and has to give, and such that are parts of cards by their name. */
    gpuDevicesCounted: devicesIn(capacity),
    gpuDevices: devicesIn(allocatable),
    gpuParts: partsIn(status["capacity"]),
    gpuRenamed: renamedIn(status["capacity"]),
    podLimit: podLimitIn(allocatable),
    hasStatus,
    notOffered: notOffered(node, hasStatus),
    attached: attachedVolumes(status["volumesAttached"]),
    /** Of the families that we write, whoever wrote them. */
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => isCapabilityLabel(key))),
    problem: problems[0],
  };
}

const notReady: NotOffered = { type: "NotReady", message: "not ready" };
const cordoned: NotOffered = { type: "Cordoned", message: "cordoned" };

/** Conditions that stand in the way while they are true. */
const troubles = {
  MemoryPressure: { type: "Trouble", message: "under memory pressure" },
  DiskPressure: { type: "Trouble", message: "under disk pressure" },
  PIDPressure: { type: "Trouble", message: "under PID pressure" },
  NetworkUnavailable: { type: "Trouble", message: "without network" },
} as const satisfies Record<string, NotOffered>;

/** Taints that Kubernetes writes for what it has also said otherwise; they come and go a moment later. */
const ownTaints: Readonly<Record<string, NotOffered>> = {
  "node.kubernetes.io/not-ready": notReady,
  "node.kubernetes.io/unreachable": notReady,
  "node.kubernetes.io/memory-pressure": troubles.MemoryPressure,
  "node.kubernetes.io/disk-pressure": troubles.DiskPressure,
  "node.kubernetes.io/pid-pressure": troubles.PIDPressure,
  "node.kubernetes.io/network-unavailable": troubles.NetworkUnavailable,
  "node.kubernetes.io/unschedulable": cordoned,
};

function notOffered(node: KubeObject, hasStatus: boolean): NotOffered[] {
  const is = (type: string) => conditionHolds(fieldsOf(node["status"])["conditions"], type);
  const { unschedulable, taints } = fieldsOf(node["spec"]);
  const found = new Set<NotOffered>();
  if (!hasStatus) found.add({ type: "Trouble", message: "without a status" });
  if (!is("Ready")) found.add(notReady);
  for (const [type, trouble] of Object.entries(troubles)) if (is(type)) found.add(trouble);
  if (unschedulable === true) found.add(cordoned);
  for (const reason of recordsOf(taints).flatMap(taintReason)) found.add(reason);
  if (node.metadata.deletionTimestamp !== undefined) found.add({ type: "BeingDeleted", message: "being deleted" });
  return [...found];
}

/** Workloads of tenants tolerate nothing: whatever keeps pods away keeps them away. */
function taintReason({ key, value, effect }: Readonly<Record<string, unknown>>): NotOffered[] {
  if (effect !== "NoSchedule" && effect !== "NoExecute") return [];
  const name = textOf(key) ?? "";
  const shown = `${name}${value ? `=${value}` : ""}:${effect}`;
  const message = `tainted ${shown}, which workloads of tenants do not tolerate`;
  return [ownTaints[name] ?? { type: "Tainted", message }];
}

/** Volumes of a node by the driver that attaches them. */
export type VolumesByDriver = ReadonlyMap<string, bigint>;

export const noAttachedVolumes: VolumesByDriver = new Map();

/** How many volumes each driver takes on a node, from its CSINode. A driver that names no number is not in it. */
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

/** A driver that names no limit promises nothing more than what it already holds, so it is full and never overbooked. */
export function volumeAmounts(attached: VolumesByDriver, limits: VolumesByDriver): ResourceAmounts {
  let capacity = 0n;
  let allocated = 0n;
  for (const limit of limits.values()) capacity += limit;
  for (const [driver, count] of attached) {
    allocated += count;
    if (!limits.has(driver)) capacity += count;
  }
  return { capacity, allocatable: capacity, allocated };
}
