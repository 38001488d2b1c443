/** The cluster's nodes, watched once for all who need them: the addresses that are theirs, and whether they are heard of. */
import { conditionHolds, fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import type { IpRange } from "../../../market/ip-range.ts";
import { nodeRanges } from "./node-ranges.ts";

export interface WatchedNode {
  readonly ranges: readonly IpRange[];
  /** Its kubelet tells how its pods are doing. */
  readonly isReady: boolean;
  /** Cordoned, or tainted so that it takes no pods or keeps none. */
  readonly isClosed: boolean;
}

export type WatchedNodes = ReturnType<typeof watchNodes>;

export function watchNodes(kube: Pick<Kube, "watch">) {
  const listeners: ((name: string) => void)[] = [];
  const cache: WatchCache<WatchedNode> = kube.watch({
    kind: kinds.node,
    project: projectNode,
    handle({ name }) {
      for (const listener of listeners) listener(name);
    },
  });
  return {
    cache,
    onChange: (listener: (name: string) => void) => void listeners.push(listener),
    isReady: (name: string) => cache.get({ name })?.isReady ?? false,
    takesPods(name: string): boolean {
      const node = cache.get({ name });
      return node?.isReady === true && !node.isClosed;
    },
  };
}

/** The effects of taints; another one only asks for other nodes first. */
const closing = new Set(["NoSchedule", "NoExecute"]);

function projectNode(node: KubeObject): WatchedNode {
  const { unschedulable, taints } = fieldsOf(node["spec"]);
  return {
    ranges: nodeRanges(node),
    isReady: conditionHolds(fieldsOf(node["status"])["conditions"], "Ready"),
    isClosed: unschedulable === true || recordsOf(taints).some(({ effect }) => closing.has(textOf(effect) ?? "")),
  };
}
