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
  readonly isCordoned: boolean;
}

export type WatchedNodes = ReturnType<typeof watchNodes>;

export function watchNodes(kube: Pick<Kube, "watch">) {
  const listeners: ((name: string) => void)[] = [];
  /** Those that take no pods now, and may again. */
  const away = new Set<string>();
  const cache: WatchCache<WatchedNode> = kube.watch({
    kind: kinds.node,
    project: projectNode,
    handle({ type, name, value }) {
      if (type === "deleted" || (value.isReady && !value.isCordoned)) away.delete(name);
      else away.add(name);
      for (const listener of listeners) listener(name);
    },
  });
  return {
    cache,
    onChange: (listener: (name: string) => void) => void listeners.push(listener),
    isReady: (name: string) => cache.get({ name })?.isReady ?? false,
    /** Whether some node takes no pods now, and may again. */
    get isSomeAway() {
      return away.size > 0;
    },
  };
}

function projectNode(node: KubeObject): WatchedNode {
  return {
    ranges: nodeRanges(node),
    isReady: conditionHolds(fieldsOf(node["status"])["conditions"], "Ready"),
    isCordoned: fieldsOf(node["spec"])["unschedulable"] === true,
  };
}
