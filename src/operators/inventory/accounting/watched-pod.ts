/** What is kept of a pod: little, since a cluster has ten thousand. */
import { fieldsOf, listOf, textOf } from "../../../kube/json-fields.ts";
import type { Change, KubeObject } from "../../../kube/kube.ts";
import { podMemoryLimit, podRequests, type ReadAmounts } from "../../../kube/pod-requests.ts";
import { largest, smallest } from "../../../runtime/bigint.ts";
import { gtSelectedKeys } from "../labels/wanted-labels.ts";
import { nothing, readAmounts, type SoldResources, wholeResources } from "./resources.ts";

export interface WatchedPod extends SoldResources {
  readonly uid: string;
  /** "lease-namespace/web-0" */
  readonly name: string;
  /** Undefined before it has a node, and once it has finished. */
  readonly node: string | undefined;
  /** The storage class labels that it selects with `Gt`, which only matches numbers. */
  readonly gtSelected: readonly string[];
  readonly problem: string | undefined;
}

/** A pod that is being deleted counts until it is gone. */
export function projectPod(pod: KubeObject): WatchedPod {
  const { name, namespace = "", uid } = pod.metadata;
  const fullName = `${namespace}/${name}`;
  const identity = { uid: uid ?? fullName, name: fullName };
  const phase = fieldsOf(pod["status"])["phase"];
  if (phase === "Succeeded" || phase === "Failed") return watchedPod(identity, undefined, nothing, []);
  const node = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  return watchedPod(identity, node, node === undefined ? nothing : soldRequests(pod), gtSelectedKeys(pod["spec"]));
}

/** One hidden class for all pods saves memory. */
function watchedPod(
  { uid, name }: Pick<WatchedPod, "uid" | "name">,
  node: string | undefined,
  { cpuMilli, memoryBytes, ephemeralBytes, gpus, problem }: SoldRequests,
  gtSelected: readonly string[],
): WatchedPod {
  return { uid, name, node, cpuMilli, memoryBytes, ephemeralBytes, gpus, gtSelected, problem };
}

type SoldRequests = SoldResources & Partial<Pick<WatchedPod, "problem">>;

export function soldRequests(pod: KubeObject): SoldRequests {
  const problems: string[] = [];
  const read: ReadAmounts = (list, what) => readAmounts(list, what, (problem) => void problems.push(problem));
  const requests = podRequests(pod, read);
  const requested = requests.get("memory") ?? 0n;
  const held = withRamVolumes(pod, requested, read);
  const resources = wholeResources(held === requested ? requests : new Map(requests).set("memory", held));
  const [problem] = problems;
  return problem === undefined ? resources : { ...resources, problem };
}

/**
 * Memory of the pod in 10⁻⁹ bytes. RAM volumes (emptyDir, medium Memory) count against limits and are not requested, so
 * they are added to the requests, up to the limit; one without a size may grow to the limit.
 */
function withRamVolumes(pod: KubeObject, requested: bigint, read: ReadAmounts): bigint {
  const volumes = listOf(fieldsOf(pod["spec"])["volumes"]).filter(isInRam);
  if (volumes.length === 0) return requested;
  const limit = podMemoryLimit(pod, read);
  let filled = requested;
  for (const { name, emptyDir } of volumes.map(fieldsOf)) {
    const size = read({ memory: fieldsOf(emptyDir)["sizeLimit"] }, `sizeLimit of RAM volume ${name}`).get("memory");
    filled += size || limit || 0n;
  }
  return limit === undefined ? filled : largest(requested, smallest(filled, limit));
}

function isInRam(volume: unknown): boolean {
  return fieldsOf(fieldsOf(volume)["emptyDir"])["medium"] === "Memory";
}

export interface NodeAllocation {
  readonly sum: SoldResources;
  readonly pods: readonly WatchedPod[];
}

export function allocationOf(pods: Iterable<WatchedPod>): NodeAllocation {
  const all = [...pods];
  return { sum: all.reduce(plus, nothing), pods: all };
}

function plus(a: SoldResources, b: SoldResources): SoldResources {
  return {
    cpuMilli: a.cpuMilli + b.cpuMilli,
    memoryBytes: a.memoryBytes + b.memoryBytes,
    ephemeralBytes: a.ephemeralBytes + b.ephemeralBytes,
    gpus: a.gpus + b.gpus,
  };
}

export function touchedNodes({ type, value, before }: Pick<Change<WatchedPod>, "type" | "value" | "before">): string[] {
  const isSame = before && type === "modified" && before.uid === value.uid && sameUse(before, value);
  const nodes = isSame ? [] : [before?.node, value.node];
  return [...new Set(nodes.filter((node) => node !== undefined))];
}

function sameUse(a: WatchedPod, b: WatchedPod): boolean {
  const fields = ["node", "problem", "cpuMilli", "memoryBytes", "ephemeralBytes", "gpus"] as const;
  return fields.every((field) => a[field] === b[field]);
}
