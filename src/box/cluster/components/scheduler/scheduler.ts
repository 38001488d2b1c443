/**
 * Gives pods to nodes. A pod that fits nowhere gets an Event and waits until something changed that could help; then all
 * that wait are looked at again, but not more often than once a second.
 */
import { kinds } from "../../../../kube/kinds.ts";
import type { ServerEvent } from "../../api-server/in-process.ts";
import type { Component, ComponentDeps, Wake } from "../component.ts";
import { atOf, conditionOf, isDeleting, keyOf, type StatusCondition, withConditions } from "../shapes/metadata.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import { type Claim, selectedNode } from "../shapes/storage.ts";
import { stampOf } from "../shapes/time.ts";
import { bestRoom, type Candidate, obstacles, unknownDemand } from "./filters.ts";
import { requestsOf } from "./requests.ts";
import { createNodeRooms } from "./rooms.ts";
import { volumeNeeds } from "./volumes.ts";

const manager = "kube-scheduler";
const by = "default-scheduler";
/** The key under which all that wait are looked at again; no pod has such a name. */
const waitingKey = "*";
/** What the real one waits at least before it tries a pod again. */
const retryMs = 1_000;

export function createScheduler({ server, view, clock, events }: ComponentDeps): Component {
  const rooms = createNodeRooms();
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
    const candidate: Candidate = { pod, requests: requestsOf(pod), volumes };
    const blocked = unknownDemand(pod) ?? volumes.blocked;
    const all = rooms.list().map((room) => ({ room, against: blocked ? [] : obstacles(candidate, room) }));
    const fitting = blocked ? [] : all.filter(({ against }) => against.length === 0).map(({ room }) => room);
    const node = bestRoom(fitting)?.node.metadata.name;
    if (node === undefined)
      wait(pod, whyNowhere(all.length, blocked ?? histogram(all.flatMap(({ against }) => against))));
    else if (volumes.unbound.length > 0) askForVolumes(pod, volumes.unbound, node);
    else bind(pod, node);
  }

  function bind(pod: Pod, nodeName: string): void {
    const bound = server.update(kinds.pod, { ...pod, spec: { ...pod.spec, nodeName } }, manager) as Pod;
    writeScheduled(bound, { type: "PodScheduled", status: "True", lastProbeTime: null });
    recordEvent(pod, "Normal", "Scheduled", `Successfully assigned ${keyOf(pod.metadata)} to ${nodeName}`);
  }

  /** The volumes come first; the change of their claims brings the pod here again. */
  function askForVolumes(pod: Pod, claims: readonly Claim[], node: string): void {
    waiting.add(keyOf(pod.metadata));
    for (const claim of claims) {
      if (claim.metadata.annotations?.[selectedNode] !== undefined) continue;
      const annotations = { ...claim.metadata.annotations, [selectedNode]: node };
      server.update(kinds.persistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } }, manager);
    }
  }

  function wait(pod: Pod, message: string): void {
    waiting.add(keyOf(pod.metadata));
    const before = conditionOf(pod.status?.conditions, "PodScheduled");
    if (before?.status === "False" && before.message === message) return;
    const reason = "Unschedulable";
    writeScheduled(pod, { type: "PodScheduled", status: "False", reason, message, lastProbeTime: null });
    recordEvent(pod, "Warning", "FailedScheduling", message);
  }

  function writeScheduled(pod: Pod, condition: StatusCondition): void {
    const conditions = withConditions(pod.status?.conditions, [condition], stampOf(clock.now()));
    server.updateStatus(kinds.pod, { ...pod, status: { phase: "Pending", ...pod.status, conditions } }, manager);
  }

  function recordEvent(object: Pod, type: "Normal" | "Warning", reason: string, note: string): void {
    const action = reason === "Scheduled" ? "Binding" : "Scheduling";
    events.record({ kind: kinds.pod, object, by, action }, type, reason, note);
  }

  return { name: "scheduler", notice, work };
}

function whyNowhere(nodes: number, why: string): string {
  return nodes === 0 ? "no nodes available to schedule pods" : `0/${nodes} nodes are available: ${why}.`;
}

/** "1 node(s) were unschedulable, 2 Insufficient cpu" */
function histogram(reasons: readonly string[]): string {
  const counts = [...Map.groupBy(reasons, (reason) => reason)];
  return counts
    .map(([reason, { length }]) => `${length} ${reason}`)
    .sort()
    .join(", ");
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
