/** What is kept of a node object: what it has, why it may not be sold, and those of its labels that are ours to write. */
import { conditionHolds, fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { NodeInventory } from "../inventory.ts";
import { isCapabilityLabel } from "../labels/label-keys.ts";
import { devicesIn, partsIn, podLimitIn, type Resources, readAmounts, vendorsIn, wholeResources } from "./resources.ts";
import { attachedVolumes, type VolumesByDriver } from "./volumes.ts";

export interface NodeFacts {
  readonly name: string;
  readonly uid: string | undefined;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly pluginVendors: NodeInventory["pluginVendors"];
  /** By vendor: devices that its plugin counts and has to give, and such that are parts of cards by their name. */
  readonly gpuDevicesCounted: ReturnType<typeof devicesIn>;
  readonly gpuDevices: ReturnType<typeof devicesIn>;
  readonly gpuParts: ReturnType<typeof partsIn>;
  /** How many pods it takes; undefined where it does not say. */
  readonly podLimit: number | undefined;
  readonly hasStatus: boolean;
  /** What the node itself shows against being sold: "not ready", "cordoned". */
  readonly hindrances: readonly string[];
  readonly attached: VolumesByDriver;
  /** Of the families that we write, whoever wrote them. */
  readonly labels: Readonly<Record<string, string>>;
  /** A quantity that cannot be read. */
  readonly problem: string | undefined;
}

/** For the watch of nodes. */
export function projectNode(node: KubeObject): NodeFacts {
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
    pluginVendors: vendorsIn(capacity),
    gpuDevicesCounted: devicesIn(capacity),
    gpuDevices: devicesIn(allocatable),
    gpuParts: partsIn(status["capacity"]),
    podLimit: podLimitIn(allocatable),
    hasStatus,
    hindrances: hindrances(node, hasStatus),
    attached: attachedVolumes(status["volumesAttached"]),
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => isCapabilityLabel(key))),
    problem: problems[0],
  };
}

/** Conditions that stand in the way while they are true. */
const troubles = {
  MemoryPressure: "under memory pressure",
  DiskPressure: "under disk pressure",
  PIDPressure: "under PID pressure",
  NetworkUnavailable: "without network",
} as const;

/** Taints that Kubernetes writes for what it has also said otherwise; they come and go a moment later. */
const ownTaints: Readonly<Record<string, string>> = {
  "node.kubernetes.io/not-ready": "not ready",
  "node.kubernetes.io/unreachable": "not ready",
  "node.kubernetes.io/memory-pressure": troubles.MemoryPressure,
  "node.kubernetes.io/disk-pressure": troubles.DiskPressure,
  "node.kubernetes.io/pid-pressure": troubles.PIDPressure,
  "node.kubernetes.io/network-unavailable": troubles.NetworkUnavailable,
  "node.kubernetes.io/unschedulable": "cordoned",
};

function hindrances(node: KubeObject, hasStatus: boolean): string[] {
  const is = (type: string) => conditionHolds(fieldsOf(node["status"])["conditions"], type);
  const found = Object.entries(troubles).filter(([type]) => is(type));
  const { unschedulable, taints } = fieldsOf(node["spec"]);
  const reasons = [
    ...(hasStatus ? [] : ["without a status"]),
    ...(is("Ready") ? [] : ["not ready"]),
    ...found.map(([, words]) => words),
    ...(unschedulable === true ? ["cordoned"] : []),
    ...recordsOf(taints).flatMap(taintReason),
    ...(node.metadata.deletionTimestamp === undefined ? [] : ["being deleted"]),
  ];
  return [...new Set(reasons)];
}

/** Workloads of tenants tolerate nothing: whatever keeps pods away keeps them away. */
function taintReason({ key, value, effect }: Readonly<Record<string, unknown>>): string[] {
  if (effect !== "NoSchedule" && effect !== "NoExecute") return [];
  const name = textOf(key) ?? "";
  const shown = `${name}${value ? `=${value}` : ""}:${effect}`;
  return [ownTaints[name] ?? `tainted ${shown}, which workloads of tenants do not tolerate`];
}
