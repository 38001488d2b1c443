/** Pods leave nodes with a taint that they do not tolerate, or tolerate only for so long. */
import { kinds } from "../../../kinds.ts";
import { type Ground, managers, type Part, sooner } from "../part.ts";
import { isDeleting, withCondition } from "../shapes/metadata.ts";
import { type Node, type Taint, tolerates } from "../shapes/node.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import { msOf, stampOf } from "../shapes/time.ts";

export function createEviction({ server, view, clock, events }: Ground): Part {
  function work(name: string): number | undefined {
    const node = view.get<Node>(kinds.node, { name });
    const taints = (node?.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
    if (taints.length === 0) return undefined;
    let again: number | undefined;
    for (const pod of view.podsOn(name)) {
      if (isDeleting(pod) || isFinished(pod)) continue;
      const leftMs = Math.min(...taints.map((taint) => toleratedMs(pod, taint, clock.now())));
      if (leftMs <= 0) evict(pod);
      else if (Number.isFinite(leftMs)) again = sooner(again, leftMs);
    }
    return again;
  }

  function evict(pod: Pod): void {
    const { namespace, name, uid } = pod.metadata;
    const message = "Taint manager: deleting due to NoExecute taint";
    const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager", message } as const;
    const conditions = withCondition(pod.status?.conditions, condition, stampOf(clock.now()));
    server.updateStatus(kinds.pod, { ...pod, status: { ...pod.status, conditions } }, managers.controllers);
    const note = `Marking for deletion Pod ${namespace}/${name}`;
    const by = "taint-eviction-controller";
    events.record({ kind: kinds.pod, object: pod, type: "Normal", reason: "TaintManagerEviction", note, by });
    server.delete(kinds.pod, { namespace, name }, { uid });
  }

  return {
    name: "eviction",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.node && type !== "deleted") wake(object.metadata.name);
      const node = kind === kinds.pod && type !== "deleted" ? (object as Pod).spec.nodeName : undefined;
      const taints = node === undefined ? [] : (view.get<Node>(kinds.node, { name: node })?.spec.taints ?? []);
      if (node && taints.some(({ effect }) => effect === "NoExecute")) wake(node);
    },
    work,
  };
}

/** How much longer it may stay; Infinity for as long as it likes. */
function toleratedMs(pod: Pod, taint: Taint, nowMs: number): number {
  const tolerations = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
  const bounded = tolerations.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  if (tolerations.length > 0 && bounded.length === 0) return Number.POSITIVE_INFINITY;
  if (bounded.length === 0) return 0;
  return msOf(taint.timeAdded ?? stampOf(nowMs)) + Math.min(...bounded) * 1_000 - nowMs;
}
