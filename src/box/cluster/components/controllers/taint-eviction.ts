/** Pods leave a node with a NoExecute taint: at once, or when the time is over for which they tolerate it. */
import { kinds } from "../../../../kube/kinds.ts";
import type { Component, ComponentDeps } from "../component.ts";
import { isDeleting, keyOf } from "../shapes/metadata.ts";
import { isTolerated, type KubeNode, type Taint } from "../shapes/node.ts";
import { type Pod, withDisruption } from "../shapes/pod.ts";
import { stampOf } from "../shapes/time.ts";

export function createTaintEviction({ server, view, clock, events }: ComponentDeps): Component {
  /** By the uid of the pod, since when its node is tainted. */
  const sinceMs = new Map<string, number>();

  function work(name: string): number | undefined {
    const taints = noExecute(view.get<KubeNode>(kinds.node, { name }));
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const pod of view.podsOn(name)) {
      const { uid } = pod.metadata;
      if (taints.length === 0) sinceMs.delete(uid);
      if (taints.length === 0 || isDeleting(pod)) continue;
      const since = sinceMs.get(uid) ?? clock.monotonicMs();
      sinceMs.set(uid, since);
      const leftMs = since + tolerationMs(pod, taints) - clock.monotonicMs();
      if (leftMs <= 0) evict(pod);
      else soonestMs = Math.min(soonestMs, leftMs);
    }
    return Number.isFinite(soonestMs) ? soonestMs : undefined;
  }

  function evict(pod: Pod): void {
    const why = { reason: "DeletionByTaintManager", message: "Taint manager: deleting due to NoExecute taint" };
    const note = `Marking for deletion Pod ${keyOf(pod.metadata)}`;
    events.record(
      { kind: kinds.pod, object: pod, by: "taint-eviction-controller" },
      "Normal",
      "TaintManagerEviction",
      note,
    );
    server.updateStatus(kinds.pod, withDisruption(pod, why, stampOf(clock.now())));
    server.delete(kinds.pod, pod.metadata, { uid: pod.metadata.uid });
  }

  return {
    name: "taintEviction",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.node) wake(object.metadata.name);
      if (kind !== kinds.pod) return;
      const { metadata, spec } = object as Pod;
      if (type === "deleted") sinceMs.delete(metadata.uid);
      else if (noExecute(view.get<KubeNode>(kinds.node, { name: spec.nodeName ?? "" })).length > 0)
        wake(spec.nodeName ?? "");
    },
    work,
  };
}

function noExecute(node: KubeNode | undefined): readonly Taint[] {
  return (node?.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/** How long a pod stays beside these taints. */
function tolerationMs({ spec: { tolerations = [] } }: Pod, taints: readonly Taint[]): number {
  if (!taints.every((taint) => isTolerated(taint, tolerations))) return 0;
  const used = tolerations.filter((each) => taints.some((taint) => isTolerated(taint, [each])));
  return Math.min(...used.map(({ tolerationSeconds = Number.POSITIVE_INFINITY }) => tolerationSeconds * 1_000));
}
