/** What is kept of a node object: what it has, why it may not be sold, and those of its labels that are ours to write. */
import { conditionHolds, fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { NodeInventory } from "../inventory.ts";
import { isCapabilityLabel } from "../labels/label-keys.ts";
import { type Resources, readAmounts, vendorsIn, wholeResources } from "./resources.ts";
import { attachedVolumes, type VolumesByDriver } from "./volumes.ts";

export interface NodeFacts {
  readonly name: string;
  readonly uid: string | undefined;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly pluginVendors: NodeInventory["pluginVendors"];
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
  const hasStatus = Object.keys(fieldsOf(status["allocatable"])).length > 0;
  return {
    name,
    uid,
    capacity: wholeResources(capacity),
    allocatable: wholeResources(read("allocatable")),
    pluginVendors: vendorsIn(capacity),
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

function hindrances(node: KubeObject, hasStatus: boolean): string[] {
  const is = (type: string) => conditionHolds(fieldsOf(node["status"])["conditions"], type);
  const found = Object.entries(troubles).filter(([type]) => is(type));
  return [
    ...(hasStatus ? [] : ["without a status"]),
    ...(is("Ready") ? [] : ["not ready"]),
    ...found.map(([, words]) => words),
    ...(fieldsOf(node["spec"])["unschedulable"] === true ? ["cordoned"] : []),
    ...(node.metadata.deletionTimestamp === undefined ? [] : ["being deleted"]),
  ];
}
