/** The kubelets of all nodes: they run the pods that are assigned to their node and report their status. */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../../kube/kinds.ts";
import type { ObjectAt } from "../../../../kube/kube.ts";
import { add } from "../../../../kube/pod-requests.ts";
import { invariant } from "../../../../runtime/invariant.ts";
import type { ServerEvent } from "../../api-server/in-process.ts";
import type { Component, ComponentDeps, Wake } from "../component.ts";
import type { Machine } from "../nodes.ts";
import { isWanted, unwanted } from "../scheduler/filters.ts";
import { allocatableOf, requestsOf, type WholeAmounts } from "../scheduler/requests.ts";
import { atOf, isDeleting, keyOf } from "../shapes/metadata.ts";
import type { KubeNode } from "../shapes/node.ts";
import { type Container, isFinished, type Pod, type PodStatus, withDisruption } from "../shapes/pod.ts";
import { stampOf } from "../shapes/time.ts";
import { type Behaviours, behaviourOf } from "./behaviour.ts";
import { type ContainerHome, createContainerRun, type Life } from "./container-run.ts";
import { advance, isOver, type PodRun } from "./pod-run.ts";
import { podStatus, type Rejection, rejectedStatus } from "./pod-status.ts";

export interface Kubelets extends Component {
  runOf(podUid: string): PodRun | undefined;
  /** Called once when this process has ended; also when its pod is gone. */
  onEnd(life: Life, listener: () => void): () => void;
  /** Its node has too little memory left, and this pod has to go for it. False where the node's machine is not heard of. */
  evict(at: ObjectAt): boolean;
  /** The kubelet of a node restarts, and admits every pod anew. */
  restart(node: string): void;
  /** The time of day of a monotonic reading. */
  wallMs(atMs: number): number;
}

const by = "kubelet";

export function createKubelets(
  { server, view, clock, events }: ComponentDeps,
  machines: ReadonlyMap<string, Machine>,
  behaviours: Behaviours | undefined,
): Kubelets {
  const runs = new Map<string, PodRun>();
  const endings = new Map<Life, Set<() => void>>();
  let addressed = 1;
  let writing = false;

  function notice({ type, kind, object }: ServerEvent, wake: Wake): void {
    if (kind === kinds.node && type !== "deleted") {
      for (const pod of view.podsOn(object.metadata.name)) wake(keyOf(pod.metadata));
    }
    if (kind !== kinds.pod) return;
    const pod = object as Pod;
    if (type === "deleted") forget(pod.metadata.uid);
    else if (pod.spec.nodeName && !writing) wake(keyOf(pod.metadata));
  }

  function work(key: string): number | undefined {
    const pod = view.get<Pod>(kinds.pod, atOf(key));
    const machine = machines.get(pod?.spec.nodeName ?? "");
    if (!pod || !machine || machine.silence) return undefined;
    const run = runs.get(pod.metadata.uid) ?? begin(pod, machine);
    if (!run) return undefined;
    const nowMs = clock.monotonicMs();
    if (isDeleting(pod)) askToEnd(pod, run);
    const nextMs = advance(run, nowMs);
    const startTime = pod.status?.startTime ?? stampOf(wallMs(run.startedMs));
    const status = podStatus(pod, run, { nowMs, now: stampOf(clock.now()), hostIp: machine.hostIp, startTime });
    if (!isDeepStrictEqual(status, pod.status)) writeStatus(pod, status);
    if (isOver(run) && isDeleting(pod)) remove(pod);
    return Number.isFinite(nextMs) ? Math.max(0, nextMs - nowMs) : undefined;
  }

  /** A pod that was finished before we saw it, or is turned away, is not run. */
  function begin(pod: Pod, machine: Machine): PodRun | undefined {
    if (isFinished(pod)) {
      if (isDeleting(pod)) remove(pod);
      return undefined;
    }
    const requests = requestsOf(pod);
    const rejection = isDeleting(pod) ? undefined : (lack(requests, machine.name) ?? mismatch(pod));
    if (rejection) {
      reject(pod, rejection);
      return undefined;
    }
    const { uid } = pod.metadata;
    const startedMs = clock.monotonicMs();
    const containers = pod.spec.containers.map((each) => createContainerRun(each, home(pod, each, machine), startedMs));
    const run = { uid, ip: pod.spec.hostNetwork ? machine.hostIp : nextAddress(), startedMs, requests, containers };
    runs.set(uid, run);
    return run;
  }

  /** What the node has too little of. The scheduler sees to that, but a pod that names its node never met it. */
  function lack(requests: WholeAmounts, name: string): Rejection | undefined {
    const here = view.podsOn(name).flatMap(({ metadata }) => runs.get(metadata.uid) ?? []);
    const living = here.filter((run) => !isOver(run));
    const used = new Map([["pods", BigInt(living.length)]]);
    for (const run of living) add(used, run.requests);
    const allocatable = allocatableOf(view.get<KubeNode>(kinds.node, { name })?.status?.allocatable);
    for (const [resource, requested] of [["pods", 1n] as const, ...requests]) {
      const capacity = allocatable.get(resource) ?? 0n;
      const taken = used.get(resource) ?? 0n;
      // An extended resource that the node does not know may be the cluster's, not the node's.
      const isForeign = resource.includes("/") && !allocatable.has(resource);
      if (isForeign || requested === 0n || requested <= capacity - taken) continue;
      const amounts = `requested: ${requested}, used: ${taken}, capacity: ${capacity}`;
      return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
    }
    return undefined;
  }

  /** A pod that requires labels which its node has not, or not any more. */
  function mismatch(pod: Pod): Rejection | undefined {
    const node = view.get<KubeNode>(kinds.node, { name: pod.spec.nodeName ?? "" });
    if (!node || isWanted(node, pod)) return undefined;
    return { reason: "NodeAffinity", message: `Predicate NodeAffinity failed: ${unwanted}` };
  }

  function reject(pod: Pod, { reason, message }: Rejection): void {
    events.record({ kind: kinds.pod, object: pod, by, node: pod.spec.nodeName }, "Warning", reason, message);
    writeStatus(pod, rejectedStatus(pod, { reason, message }, stampOf(clock.now())));
  }

  function restart(node: string): void {
    for (const pod of view.podsOn(node)) {
      const rejection = isFinished(pod) || isDeleting(pod) ? undefined : mismatch(pod);
      if (!rejection) continue;
      forget(pod.metadata.uid);
      reject(pod, rejection);
    }
  }

  function evict(at: ObjectAt): boolean {
    const pod = view.get<Pod>(kinds.pod, at);
    const run = pod && runs.get(pod.metadata.uid);
    const { hostIp, silence } = machines.get(pod?.spec.nodeName ?? "") ?? {};
    invariant(pod && run && hostIp, "there is no such pod to evict", { ...at });
    if (silence) return false;
    const [nowMs, now] = [clock.monotonicMs(), stampOf(clock.now())];
    for (const container of run.containers) container.stop(nowMs, 0);
    advance(run, nowMs);
    const message = "The node was low on resource: memory. ";
    const startTime = pod.status?.startTime ?? now;
    const status = podStatus(pod, run, { nowMs, now, hostIp, startTime });
    const failed: PodStatus = { ...status, phase: "Failed", reason: "Evicted", message };
    const evicted = withDisruption({ ...pod, status: failed }, { reason: "TerminationByKubelet", message }, now);
    events.record({ kind: kinds.pod, object: pod, by, node: pod.spec.nodeName }, "Warning", "Evicted", message);
    writeStatus(pod, evicted.status ?? failed);
    return true;
  }

  /** From 10.244.0.2 on; so many that none comes again while its pod lives. */
  function nextAddress(): string {
    addressed += 1;
    return `10.${244 + ((addressed >> 16) % 12)}.${(addressed >> 8) & 255}.${addressed & 255}`;
  }

  function home(pod: Pod, container: Container, machine: Machine): ContainerHome {
    const { namespace, name, uid } = pod.metadata;
    const about = { kind: kinds.pod, object: pod, by, node: machine.name, container: container.name };
    return {
      behaviour: (restarts) => behaviourOf(behaviours, { pod, container, restarts }),
      images: machine.images,
      idOf: (restarts) => containerId(`${uid}/${container.name}/${restarts}`),
      stamp: (atMs) => stampOf(wallMs(atMs)),
      podText: `${name}_${namespace}(${uid})`,
      restartPolicy: pod.spec.restartPolicy ?? "Always",
      event: (type, reason, note) => events.record(about, type, reason, note),
      lifeEnded: notifyEnd,
    };
  }

  function askToEnd({ metadata, spec }: Pod, { containers }: PodRun): void {
    const graceSeconds = metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
    for (const run of containers) run.stop(clock.monotonicMs(), graceSeconds * 1_000);
  }

  function writeStatus(pod: Pod, status: PodStatus): void {
    writing = true;
    try {
      server.updateStatus(kinds.pod, { ...pod, status }, by);
    } finally {
      writing = false;
    }
  }

  function remove({ metadata: { namespace, name, uid } }: Pod): void {
    server.delete(kinds.pod, { namespace, name }, { graceSeconds: 0, uid });
  }

  function forget(uid: string): void {
    for (const { life } of runs.get(uid)?.containers ?? []) if (life) notifyEnd(life);
    runs.delete(uid);
  }

  function notifyEnd(life: Life): void {
    const listeners = endings.get(life) ?? [];
    endings.delete(life);
    for (const listener of listeners) listener();
  }

  function wallMs(atMs: number): number {
    return clock.now() - (clock.monotonicMs() - atMs);
  }

  return {
    name: "kubelet",
    notice,
    work,
    runOf: (podUid) => runs.get(podUid),
    onEnd(life, listener) {
      const listeners = endings.get(life) ?? new Set();
      endings.set(life, listeners);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    evict,
    restart,
    wallMs,
  };
}

/** Looks like one, and is the same in every run of the same history. */
function containerId(what: string): string {
  return `containerd://${createHash("sha256").update(what).digest("hex")}`;
}
