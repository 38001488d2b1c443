/**
 * What the pods of each node take together. One event changes one sum or two, whatever the number of pods. From time to
 * time everything is counted anew; a difference would be a fault of ours, so it is counted and put right.
 */
import { invariant } from "../../../runtime/invariant.ts";
import { nothing, type SoldResources } from "./resources.ts";
import type { WatchedPod } from "./watched-pod.ts";

export interface NodeAllocation {
  readonly sum: SoldResources;
  /** The pods that make up the sum. */
  readonly pods: ReadonlySet<WatchedPod>;
  /** How many of them have a quantity that cannot be read. */
  readonly unreadable: number;
}

export const noAllocation: NodeAllocation = { sum: nothing, pods: new Set(), unreadable: 0 };

export function createAllocations() {
  let sums = createSums();
  let recounts = 0;
  let drifts = 0;

  return {
    /** A pod as it is now, new or not. Returns the nodes whose allocation it changed. */
    seen: (pod: WatchedPod) => sums.seen(pod),
    /** Returns the node whose allocation it changed, if any. */
    gone: (uid: string) => sums.gone(uid),
    ofNode: (name: string): NodeAllocation => sums.nodes.get(name) ?? noAllocation,
    /** Storage class labels that some pod selects with `Gt`. */
    gtSelected: () => sums.gtSelected(),
    /** Counts from scratch. Returns the nodes whose allocation was wrong. */
    recompute(pods: Iterable<WatchedPod>): readonly string[] {
      const fresh = createSums();
      for (const pod of pods) fresh.seen(pod);
      const wrong = differingNodes(sums.nodes, fresh.nodes);
      sums = fresh;
      recounts += 1;
      drifts += wrong.length;
      return wrong;
    },
    /** Drifts are nodes that a recount found wrong, since the start. */
    get counts() {
      return { pods: sums.pods.size, recounts, drifts };
    },
  };
}

interface NodeSum extends NodeAllocation {
  sum: SoldResources;
  readonly pods: Set<WatchedPod>;
  unreadable: number;
}

function createSums() {
  const pods = new Map<string, WatchedPod>();
  const nodes = new Map<string, NodeSum>();
  const selections = new Map<string, number>();

  function add(pod: WatchedPod): void {
    pods.set(pod.uid, pod);
    for (const key of pod.gtSelected) select(key, 1);
    if (pod.node === undefined) return;
    const at: NodeSum = nodes.get(pod.node) ?? { sum: nothing, pods: new Set(), unreadable: 0 };
    nodes.set(pod.node, at);
    at.pods.add(pod);
    at.sum = plus(at.sum, pod, 1n);
    if (pod.problem !== undefined) at.unreadable += 1;
  }

  function subtract(pod: WatchedPod): void {
    pods.delete(pod.uid);
    for (const key of pod.gtSelected) select(key, -1);
    if (pod.node === undefined) return;
    const at = nodes.get(pod.node);
    invariant(at, "a counted pod is on no node", { pod: pod.name, node: pod.node });
    at.pods.delete(pod);
    at.sum = plus(at.sum, pod, -1n);
    const isSound = Object.values(at.sum).every((amount) => amount >= 0n);
    invariant(isSound, "the use of a node became negative", { node: pod.node });
    if (pod.problem !== undefined) at.unreadable -= 1;
    if (at.pods.size > 0) return;
    invariant(same(at.sum, nothing), "a node without pods is in use", { node: pod.node });
    nodes.delete(pod.node);
  }

  function select(key: string, by: number): void {
    const times = (selections.get(key) ?? 0) + by;
    if (times === 0) selections.delete(key);
    else selections.set(key, times);
  }

  return {
    pods: pods as ReadonlyMap<string, WatchedPod>,
    nodes: nodes as ReadonlyMap<string, NodeAllocation>,
    gtSelected: (): ReadonlySet<string> => new Set(selections.keys()),
    seen(pod: WatchedPod): readonly string[] {
      const before = pods.get(pod.uid);
      if (before) subtract(before);
      add(pod);
      if (before && before.node === pod.node && before.problem === pod.problem && same(before, pod)) return [];
      return [...new Set([before?.node, pod.node])].filter((node) => node !== undefined);
    },
    gone(uid: string): readonly string[] {
      const before = pods.get(uid);
      if (!before) return [];
      subtract(before);
      return before.node === undefined ? [] : [before.node];
    },
  };
}

function plus(sum: SoldResources, pod: SoldResources, times: 1n | -1n): SoldResources {
  return {
    cpuMilli: sum.cpuMilli + times * pod.cpuMilli,
    memoryBytes: sum.memoryBytes + times * pod.memoryBytes,
    ephemeralBytes: sum.ephemeralBytes + times * pod.ephemeralBytes,
    gpus: sum.gpus + times * pod.gpus,
  };
}

function same(a: SoldResources, b: SoldResources): boolean {
  return (
    a.cpuMilli === b.cpuMilli &&
    a.memoryBytes === b.memoryBytes &&
    a.ephemeralBytes === b.ephemeralBytes &&
    a.gpus === b.gpus
  );
}

function differingNodes(was: ReadonlyMap<string, NodeAllocation>, is: ReadonlyMap<string, NodeAllocation>): string[] {
  const names = new Set([...was.keys(), ...is.keys()]);
  return [...names].filter((name) => {
    const [a, b] = [was.get(name) ?? noAllocation, is.get(name) ?? noAllocation];
    return a.pods.size !== b.pods.size || !same(a.sum, b.sum);
  });
}
