/** The kubelets of all nodes: they run the pods that were given to their node and tell how they are. */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../../kube/kinds.ts";
import type { ServerEvent } from "../../api-server/api-server.ts";
import { containerPath } from "../event-recorder.ts";
import type { Machine, Machines } from "../machines.ts";
import { type Ground, managers, type Part, type Wake } from "../part.ts";
import { atOf, isDeleting, keyOf } from "../shapes/metadata.ts";
import type { Node } from "../shapes/node.ts";
import { isFinished, type Pod, type PodStatus } from "../shapes/pod.ts";
import { stampOf } from "../shapes/time.ts";
import { type Behaviours, behaviourOf } from "./behaviour.ts";
import type { ContainerHome, Life } from "./container-run.ts";
import { createPodRun, type PodRun } from "./pod-run.ts";
import { podStatus, rejectedStatus } from "./pod-status.ts";
import { createNodeRooms, type Rejection } from "./room.ts";

export interface Kubelets extends Part {
  runOf(podUid: string): PodRun | undefined;
  /** Tells once when this process has ended; also when its pod is gone. */
  onEnd(life: Life, listener: () => void): () => void;
  /** The time of day of a monotonic reading. */
  wallMs(atMs: number): number;
}

const restGraceSeconds = 30;

export function createKubelets(
  { server, view, clock, events }: Ground,
  machines: Machines,
  behaviours: Behaviours | undefined,
): Kubelets {
  const runs = new Map<string, PodRun>();
  /** Who has which address; a pod on the network of its host has none of its own. */
  const addresses = new Map<string, { readonly machine: Machine; readonly ip: string }>();
  const rooms = createNodeRooms();
  const endings = new Map<Life, Set<() => void>>();
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
    if (!pod || !machine) return undefined;
    const run = runs.get(pod.metadata.uid) ?? begin(pod, machine);
    if (!run) return undefined;
    const nowMs = clock.monotonicMs();
    if (isDeleting(pod)) askToEnd(pod, run);
    const nextMs = run.advance(nowMs);
    write(pod, run, machine);
    if (run.over) release(run.uid);
    if (run.over && isDeleting(pod)) remove(pod);
    return Number.isFinite(nextMs) ? Math.max(0, nextMs - nowMs) : undefined;
  }

  /** A pod that was finished before we saw it, or is turned away, is not run. */
  function begin(pod: Pod, machine: Machine): PodRun | undefined {
    if (isFinished(pod)) {
      if (isDeleting(pod)) remove(pod);
      return undefined;
    }
    const node = view.get<Node>(kinds.node, { name: machine.name });
    const rejection = node && !isDeleting(pod) ? rooms.take(pod, node) : undefined;
    if (rejection) {
      reject(pod, machine, rejection);
      return undefined;
    }
    const { uid } = pod.metadata;
    const ip = pod.spec.hostNetwork ? machine.hostIp : machine.takeIp();
    if (!pod.spec.hostNetwork) addresses.set(uid, { machine, ip });
    const place = { node: machine.name, ip, startedMs: clock.monotonicMs() };
    const run = createPodRun(pod, place, home(pod, machine));
    runs.set(uid, run);
    return run;
  }

  function reject(pod: Pod, machine: Machine, rejection: Rejection): void {
    const { reason, message: note } = rejection;
    const by = "kubelet";
    events.record({ kind: kinds.pod, object: pod, type: "Warning", reason, note, by, node: machine.name });
    writeStatus(pod, rejectedStatus(pod, rejection, stampOf(clock.now())));
  }

  function home(pod: Pod, machine: Machine): ContainerHome {
    const { namespace, name, uid } = pod.metadata;
    return {
      behaviour: (container, restarts) => behaviourOf(behaviours, { pod, container, restarts }),
      hasImage: (image) => machine.images.has(image),
      imageArrived: (image) => void machine.images.add(image),
      idOf: (container, restarts) => containerId(`${uid}/${container.name}/${restarts}`),
      stamp: (atMs) => stampOf(wallMs(atMs)),
      podText: `${name}_${namespace}(${uid})`,
      restartPolicy: pod.spec.restartPolicy ?? "Always",
      event: ({ container, list }, type, reason, note) =>
        events.record({
          kind: kinds.pod,
          object: pod,
          type,
          reason,
          note,
          by: "kubelet",
          node: machine.name,
          fieldPath: containerPath(list, container.name),
        }),
      lifeEnded: tellEnd,
    };
  }

  function askToEnd(pod: Pod, run: PodRun): void {
    const { deletionGracePeriodSeconds } = pod.metadata;
    const graceSeconds = deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? restGraceSeconds;
    run.stop(clock.monotonicMs(), graceSeconds * 1_000);
  }

  function write(pod: Pod, run: PodRun, machine: Machine): void {
    const startTime = pod.status?.startTime ?? stampOf(wallMs(run.startedMs));
    const nowMs = clock.monotonicMs();
    const moment = { nowMs, now: stampOf(clock.now()), hostIp: machine.hostIp, startTime };
    const status = podStatus(pod, run, moment);
    if (!isDeepStrictEqual(status, pod.status)) writeStatus(pod, status);
  }

  function writeStatus(pod: Pod, status: PodStatus): void {
    writing = true;
    try {
      server.updateStatus(kinds.pod, { ...pod, status }, managers.kubelet);
    } finally {
      writing = false;
    }
  }

  function release(uid: string): void {
    rooms.giveBack(uid);
    const address = addresses.get(uid);
    addresses.delete(uid);
    address?.machine.giveBackIp(address.ip);
  }

  function remove({ metadata: { namespace, name, uid } }: Pod): void {
    server.delete(kinds.pod, { namespace, name }, { graceSeconds: 0, uid });
  }

  function forget(uid: string): void {
    const run = runs.get(uid);
    if (!run) return;
    runs.delete(uid);
    release(uid);
    for (const { life } of run.containers) if (life) tellEnd(life);
  }

  function tellEnd(life: Life): void {
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
    wallMs,
  };
}

/** Looks like one, and is the same in every run of the same history. */
function containerId(what: string): string {
  return `containerd://${createHash("sha256").update(what).digest("hex")}`;
}
