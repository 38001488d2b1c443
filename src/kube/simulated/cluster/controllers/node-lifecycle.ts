/** Watches over nodes: one that is silent is called unknown, and what is wrong with a node becomes its taints. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import type { Machines } from "../machines.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { type Condition, conditionOf, withCondition } from "../shapes/metadata.ts";
import { type Node, type Taint, taintKeys } from "../shapes/node.ts";
import { isReady, type Pod } from "../shapes/pod.ts";
import { stampOf } from "../shapes/time.ts";

/** What the real one waits for a sign of life. */
export const silenceMs = 50_000;

export function createNodeLifecycle({ server, view, clock }: Ground, machines: Machines): Part {
  function work(name: string): number | undefined {
    const node = view.get<Node>(kinds.node, { name });
    const since = machines.get(name)?.silentSinceMs;
    if (!node) return undefined;
    const leftMs = since === undefined ? undefined : Math.max(0, since + silenceMs - clock.monotonicMs());
    if (leftMs === 0) markUnknown(node);
    const now = view.get<Node>(kinds.node, { name }) ?? node;
    writeTaints(now);
    if (readiness(now) === "Unknown") markPodsUnready(name);
    return leftMs === 0 ? undefined : leftMs;
  }

  function markUnknown(node: Node): void {
    if (readiness(node) === "Unknown") return;
    const now = stampOf(clock.now());
    let conditions = node.status?.conditions;
    for (const { type, lastHeartbeatTime = now } of node.status?.conditions ?? []) {
      const reason = "NodeStatusUnknown";
      const message = "Kubelet stopped posting node status.";
      conditions = withCondition(conditions, { type, status: "Unknown", reason, message, lastHeartbeatTime }, now);
    }
    server.updateStatus(kinds.node, { ...node, status: { ...node.status, conditions } }, managers.controllers);
  }

  function writeTaints(node: Node): void {
    const before = node.spec.taints ?? [];
    const wanted = wantedTaints(node);
    const foreign = before.filter(({ key }) => !(Object.values(taintKeys) as string[]).includes(key));
    const ours = wanted.map((taint) => {
      const known = before.find(({ key, effect }) => key === taint.key && effect === taint.effect);
      return known ?? { ...taint, timeAdded: stampOf(clock.now()) };
    });
    const taints = [...foreign, ...ours];
    if (isDeepStrictEqual(taints, before)) return;
    const { taints: _, ...spec } = node.spec;
    const next = { ...node, spec: taints.length > 0 ? { ...spec, taints } : spec };
    server.update(kinds.node, next, managers.controllers);
  }

  /** So that no service sends anybody there. Where the kubelet can be heard, it is the one to say. */
  function markPodsUnready(name: string): void {
    for (const pod of view.podsOn(name).filter(isReady)) {
      const next: Condition = { type: "Ready", status: "False", lastProbeTime: null };
      const conditions = withCondition(pod.status?.conditions, next, stampOf(clock.now()));
      server.updateStatus(kinds.pod, { ...pod, status: { ...pod.status, conditions } } as Pod, managers.controllers);
    }
  }

  return {
    name: "node",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.node && type !== "deleted") wake(object.metadata.name);
    },
    work,
  };
}

function readiness(node: Node): Condition["status"] {
  return conditionOf(node.status?.conditions, "Ready")?.status ?? "Unknown";
}

function wantedTaints(node: Node): Taint[] {
  const has = (type: string) => conditionOf(node.status?.conditions, type)?.status === "True";
  const ready = readiness(node);
  const taints: Taint[] = [];
  const add = (key: string, ...effects: Taint["effect"][]) => {
    for (const effect of effects) taints.push({ key, effect });
  };
  if (ready === "False") add(taintKeys.notReady, "NoSchedule", "NoExecute");
  if (ready === "Unknown") add(taintKeys.unreachable, "NoSchedule", "NoExecute");
  if (has("MemoryPressure")) add(taintKeys.memoryPressure, "NoSchedule");
  if (has("DiskPressure")) add(taintKeys.diskPressure, "NoSchedule");
  if (has("PIDPressure")) add(taintKeys.pidPressure, "NoSchedule");
  if (node.spec.unschedulable) add(taintKeys.unschedulable, "NoSchedule");
  return taints;
}
