/**
 * What the pods of each node take together. One event changes one sum or two, whatever the number of pods. From time to
 * time everything is counted anew; a difference would be a fault of ours, so it is counted and put right.
 */
import { invariant } from "../../../runtime/invariant.ts";
import type { PodUse } from "./pod-use.ts";
import { nothing, type Resources } from "./resources.ts";

export interface NodeUse {
  readonly sum: Resources;
  /** The pods that make up the sum. */
  readonly pods: ReadonlySet<PodUse>;
  /** How many of them have a quantity that cannot be read. */
  readonly unreadable: number;
}

export interface Tally {
  /** A pod as it is now, new or not. Returns the nodes whose use it changed. */
  seen(pod: PodUse): readonly string[];
  /** Returns the node whose use it changed, if any. */
  gone(uid: string): readonly string[];
  perNode(name: string): NodeUse;
  /** Storage class labels that some pod selects with `Gt`. */
  gtSelected(): ReadonlySet<string>;
  /** Counts from scratch. Returns the nodes whose use was wrong. */
  recompute(pods: Iterable<PodUse>): readonly string[];
  readonly counts: Readonly<TallyCounts>;
}

export interface TallyCounts {
  readonly pods: number;
  readonly recounts: number;
  /** Nodes that a recount found wrong, since the start. */
  readonly drifts: number;
}

export const noUse: NodeUse = { sum: nothing, pods: new Set(), unreadable: 0 };

export function createTally(): Tally {
  let sums = createSums();
  let recounts = 0;
  let drifts = 0;

  return {
    seen: (pod) => sums.seen(pod),
    gone: (uid) => sums.gone(uid),
    perNode: (name) => sums.nodes.get(name) ?? noUse,
    gtSelected: () => sums.gtSelected(),
    recompute(pods) {
      const fresh = createSums();
      for (const pod of pods) fresh.seen(pod);
      const wrong = differingNodes(sums.nodes, fresh.nodes);
      sums = fresh;
      recounts += 1;
      drifts += wrong.length;
      return wrong;
    },
    get counts() {
      return { pods: sums.pods.size, recounts, drifts };
    },
  };
}

interface NodeSum extends NodeUse {
  sum: Resources;
  readonly pods: Set<PodUse>;
  unreadable: number;
}

function createSums() {
  const pods = new Map<string, PodUse>();
  const nodes = new Map<string, NodeSum>();
  const selections = new Map<string, number>();

  function add(pod: PodUse): void {
    pods.set(pod.uid, pod);
    for (const key of pod.gtSelected) select(key, 1);
    if (pod.node === undefined) return;
    const at: NodeSum = nodes.get(pod.node) ?? { sum: nothing, pods: new Set(), unreadable: 0 };
    nodes.set(pod.node, at);
    at.pods.add(pod);
    at.sum = plus(at.sum, pod);
    if (pod.problem !== undefined) at.unreadable += 1;
  }

  function subtract(pod: PodUse): void {
    pods.delete(pod.uid);
    for (const key of pod.gtSelected) select(key, -1);
    if (pod.node === undefined) return;
    const at = nodes.get(pod.node);
    invariant(at, "a counted pod is on no node", { pod: pod.name, node: pod.node });
    at.pods.delete(pod);
    at.sum = minus(at.sum, pod);
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
    pods: pods as ReadonlyMap<string, PodUse>,
    nodes: nodes as ReadonlyMap<string, NodeUse>,
    gtSelected: () => new Set(selections.keys()),
    seen(pod: PodUse): readonly string[] {
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

function plus(sum: Resources, pod: Resources): Resources {
  return {
    cpuMilli: sum.cpuMilli + pod.cpuMilli,
    memoryBytes: sum.memoryBytes + pod.memoryBytes,
    ephemeralBytes: sum.ephemeralBytes + pod.ephemeralBytes,
    gpus: sum.gpus + pod.gpus,
  };
}

function minus(sum: Resources, pod: Resources): Resources {
  const left = {
    cpuMilli: sum.cpuMilli - pod.cpuMilli,
    memoryBytes: sum.memoryBytes - pod.memoryBytes,
    ephemeralBytes: sum.ephemeralBytes - pod.ephemeralBytes,
    gpus: sum.gpus - pod.gpus,
  };
  const isSound = left.cpuMilli >= 0n && left.memoryBytes >= 0n && left.ephemeralBytes >= 0n && left.gpus >= 0n;
  invariant(isSound, "the use of a node became negative");
  return left;
}

function same(a: Resources, b: Resources): boolean {
  return (
    a.cpuMilli === b.cpuMilli &&
    a.memoryBytes === b.memoryBytes &&
    a.ephemeralBytes === b.ephemeralBytes &&
    a.gpus === b.gpus
  );
}

function differingNodes(was: ReadonlyMap<string, NodeUse>, is: ReadonlyMap<string, NodeUse>): string[] {
  const names = new Set([...was.keys(), ...is.keys()]);
  return [...names].filter((name) => {
    const [a, b] = [was.get(name) ?? noUse, is.get(name) ?? noUse];
    return a.pods.size !== b.pods.size || !same(a.sum, b.sum);
  });
}
