/** The cluster's nodes, watched once for all who need them: the addresses that are theirs, and whether they are heard of. */
import { conditionHolds, fieldsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import type { IpRange } from "../../market/ip-range.ts";
import { nodeRanges } from "./node-ranges.ts";

export interface WatchedNode {
  readonly ranges: readonly IpRange[];
  /** Its kubelet tells how its pods are doing. */
  readonly isReady: boolean;
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
    someLost: () => [...cache.list()].some(({ isReady }) => !isReady),
  };
}

function projectNode(node: KubeObject): WatchedNode {
  return { ranges: nodeRanges(node), isReady: conditionHolds(fieldsOf(node["status"])["conditions"], "Ready") };
}
