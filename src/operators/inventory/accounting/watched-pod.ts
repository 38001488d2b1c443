/** What is kept of a pod. A cluster has ten thousand of them, so it is little: who it is, where it is, what it takes. */
import type { ReadAmounts } from "../../../kube/exact-amounts.ts";
import { fieldsOf, listOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { podMemoryLimit, podRequests } from "../../../kube/pod-requests.ts";
import { gtSelectedKeys } from "../labels/gt-selectors.ts";
import { nothing, readAmounts, type SoldResources, wholeResources } from "./resources.ts";

export interface WatchedPod extends SoldResources {
  readonly uid: string;
  /** "lease-namespace/web-0" */
  readonly name: string;
  /** Where it counts. Undefined: nowhere, because it has no node yet or has finished. */
  readonly node: string | undefined;
  /** The storage class labels that it selects with `Gt`, which read a value other than a number as no. */
  readonly gtSelected: readonly string[];
  /** A quantity of it that cannot be read. */
  readonly problem: string | undefined;
}

/** For the watch of pods. A pod that is being deleted counts until it is gone: until then it holds what it has. */
export function projectPod(pod: KubeObject): WatchedPod {
  const { name, namespace = "", uid } = pod.metadata;
  const fullName = `${namespace}/${name}`;
  const identity = { uid: uid ?? fullName, name: fullName };
  const phase = fieldsOf(pod["status"])["phase"];
  if (phase === "Succeeded" || phase === "Failed") return watchedPod(identity, undefined, nothing, []);
  const node = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  return watchedPod(identity, node, node === undefined ? nothing : soldRequests(pod), gtSelectedKeys(pod["spec"]));
}

/** Every pod has the same fields in the same order: such objects are the smallest and the quickest. */
function watchedPod(
  { uid, name }: Pick<WatchedPod, "uid" | "name">,
  node: string | undefined,
  { cpuMilli, memoryBytes, ephemeralBytes, gpus, problem }: SoldRequests,
  gtSelected: readonly string[],
): WatchedPod {
  return { uid, name, node, cpuMilli, memoryBytes, ephemeralBytes, gpus, gtSelected, problem };
}

interface SoldRequests extends SoldResources {
  /** The first quantity that could not be read and counts as nothing. */
  readonly problem?: string;
}

/** What the pod takes of what is sold. */
export function soldRequests(pod: KubeObject): SoldRequests {
  const problems: string[] = [];
  const onProblem = (problem: string) => void problems.push(problem);
  const read: ReadAmounts = (list, what) => readAmounts(list, what, onProblem);
  const requests = podRequests(pod, read);
  const requested = requests.get("memory") ?? 0n;
  const held = withRamVolumes(pod, requested, read);
  const taken = wholeResources(held === requested ? requests : new Map(requests).set("memory", held));
  const [problem] = problems;
  return problem === undefined ? taken : { ...taken, problem };
}

/**
 * The memory that the pod holds, in 10⁻⁹ths of a byte. The pages of its RAM volumes, emptyDirs with medium Memory, count
 * against the limits of the containers and are no request: a workload of the market has its RAM volumes in the limit
 * alone, and by its requests that memory would be sold again. So it is its requests with its volumes filled, each once
 * however many containers mount it, but no more than the limit lets it have. A volume without a size may grow up to that
 * limit. Where there is no limit either, nothing bounds it, as nothing bounds the containers; then the requests stand.
 */
function withRamVolumes(pod: KubeObject, requested: bigint, read: ReadAmounts): bigint {
  const volumes = listOf(fieldsOf(pod["spec"])["volumes"]).filter(isInRam);
  if (volumes.length === 0) return requested;
  const limit = podMemoryLimit(pod, read);
  let filled = requested;
  for (const { name, emptyDir } of volumes.map(fieldsOf)) {
    const size = read({ memory: fieldsOf(emptyDir)["sizeLimit"] }, `sizeLimit of RAM volume ${name}`).get("memory");
    // To the kubelet a size of zero is none.
    filled += size || limit || 0n;
  }
  if (limit === undefined || filled <= limit) return filled;
  return limit > requested ? limit : requested;
}

function isInRam(volume: unknown): boolean {
  return fieldsOf(fieldsOf(volume)["emptyDir"])["medium"] === "Memory";
}
