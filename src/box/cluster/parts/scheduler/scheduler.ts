/**
 * Gives pods to nodes. A pod that fits nowhere is told so and waits until something changed that could help; then all
 * that wait are looked at again, but not more often than once a second.
 */
import { kinds } from "../../../../kube/kinds.ts";
import type { ServerEvent } from "../../api-server/api-server.ts";
import { type Ground, managers, type Part, type Wake } from "../part.ts";
import { atOf, conditionOf, isDeleting, keyOf, withCondition } from "../shapes/metadata.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import { selectedNode } from "../shapes/storage.ts";
import { stampOf } from "../shapes/time.ts";
import { type Candidate, type Obstacle, obstacle } from "./filters.ts";
import { podRequests } from "./requests.ts";
import { createRooms, type Room } from "./rooms.ts";
import { bestRoom } from "./score.ts";
import { unknownWish } from "./unknown-wishes.ts";
import { unschedulableText } from "./unschedulable.ts";
import { volumeNeeds } from "./volumes.ts";

const by = "default-scheduler";
/** The key under which all that wait are looked at again; no pod has such a name. */
const waitingKey = "*";
/** What the real one waits at least before it tries a pod again. */
const retryMs = 1_000;

/** `isAttended`: whether a kubelet will take the pod at once, and with it all that is to be said of it. */
export function createScheduler(ground: Ground, isAttended: (node: string) => boolean): Part {
  const { server, view, clock, events } = ground;
  const rooms = createRooms();
  const waiting = new Set<string>();
  let retriedMs = Number.NEGATIVE_INFINITY;
  let retry: Wake = () => undefined;

  function notice(event: ServerEvent, wake: Wake): void {
    retry = wake;
    rooms.notice(event);
    const pod = event.kind === kinds.pod ? (event.object as Pod) : undefined;
    if (pod && event.type !== "deleted" && isOurs(pod)) wake(keyOf(pod.metadata));
    else if (pod && event.type === "deleted") waiting.delete(keyOf(pod.metadata));
    if (waiting.size > 0 && mayHelp(event)) wake(waitingKey);
  }

  function work(key: string): number | undefined {
    if (key === waitingKey) return lookAgain();
    const pod = view.get<Pod>(kinds.pod, atOf(key));
    waiting.delete(key);
    if (pod && isOurs(pod)) place(pod);
    return undefined;
  }

  function lookAgain(): number | undefined {
    const sinceMs = clock.monotonicMs() - retriedMs;
    if (sinceMs < retryMs) return retryMs - sinceMs;
    retriedMs = clock.monotonicMs();
    for (const key of waiting) retry(key);
    return undefined;
  }

  function place(pod: Pod): void {
    const volumes = volumeNeeds(view, pod);
    const candidate: Candidate = { pod, requests: podRequests(pod), volumes };
    const blocked = unknownWish(pod) ?? volumes.blocked;
    const obstacles: Obstacle[] = [];
    const fitting: Room[] = [];
    if (blocked === undefined) {
      const enough = enoughRooms(rooms.size);
      for (const room of rooms.inTurn()) {
        const found = obstacle(candidate, room);
        if (found) obstacles.push(found);
        else if (fitting.push(room) >= enough) break;
      }
    }
    const room = bestRoom(candidate, fitting);
    if (!room) wait(pod, unschedulableText({ nodes: rooms.size, blocked, obstacles }));
    else if (volumes.unbound.length > 0) askForVolumes(candidate, room);
    else bind(pod, room.node.metadata.name);
  }

  function bind(pod: Pod, nodeName: string): void {
    const bound = server.update(kinds.pod, { ...pod, spec: { ...pod.spec, nodeName } }, managers.scheduler) as Pod;
    if (!isAttended(nodeName)) writeScheduled(bound, { type: "PodScheduled", status: "True", lastProbeTime: null });
    const { namespace, name } = pod.metadata;
    const note = `Successfully assigned ${namespace}/${name} to ${nodeName}`;
    events.record({
      kind: kinds.pod,
      object: pod,
      type: "Normal",
      reason: "Scheduled",
      note,
      by,
      action: "Binding",
    });
  }

  /** The volumes come first; the change of their claims brings the pod here again. */
  function askForVolumes({ pod, volumes }: Candidate, room: Room): void {
    waiting.add(keyOf(pod.metadata));
    for (const claim of volumes.unbound) {
      if (claim.metadata.annotations?.[selectedNode] !== undefined) continue;
      const annotations = { ...claim.metadata.annotations, [selectedNode]: room.node.metadata.name };
      const metadata = { ...claim.metadata, annotations };
      server.update(kinds.persistentVolumeClaim, { ...claim, metadata }, managers.scheduler);
    }
  }

  function wait(pod: Pod, message: string): void {
    waiting.add(keyOf(pod.metadata));
    const before = conditionOf(pod.status?.conditions, "PodScheduled");
    if (before?.status === "False" && before.message === message) return;
    const reason = "Unschedulable";
    writeScheduled(pod, { type: "PodScheduled", status: "False", reason, message, lastProbeTime: null });
    const note = message;
    events.record({
      kind: kinds.pod,
      object: pod,
      type: "Warning",
      reason: "FailedScheduling",
      note,
      by,
      action: "Scheduling",
    });
  }

  function writeScheduled(pod: Pod, condition: Parameters<typeof withCondition>[1]): void {
    const conditions = withCondition(pod.status?.conditions, condition, stampOf(clock.now()));
    const status = { phase: "Pending", ...pod.status, conditions };
    server.updateStatus(kinds.pod, { ...pod, status }, managers.scheduler);
  }

  return { name: "scheduler", notice, work };
}

/** A large cluster is not searched to its end for every pod: the real one stops at as many that would do. */
function enoughRooms(nodes: number): number {
  const share = Math.max(5, 50 - nodes / 125);
  return Math.max(100, Math.floor((nodes * share) / 100));
}

function isOurs(pod: Pod): boolean {
  const { nodeName, schedulerName = by } = pod.spec;
  return !nodeName && schedulerName === by && !isDeleting(pod) && !isFinished(pod);
}

/** Changes after which a pod that fitted nowhere may fit: more room, other nodes, volumes. */
function mayHelp({ type, kind, object }: ServerEvent): boolean {
  if (kind === kinds.pod)
    return Boolean((object as Pod).spec.nodeName) && (type === "deleted" || isFinished(object as Pod));
  return (
    kind === kinds.node ||
    kind === kinds.persistentVolumeClaim ||
    kind === kinds.persistentVolume ||
    kind === kinds.storageClass
  );
}
