/** The nodes of the simulated cluster, and what can happen to them. */

import { kinds } from "../../../kube/kinds.ts";
import { formatBytes, formatCpuMilli } from "../../../market/quantity.ts";
import type { Timer } from "../../../runtime/clock.ts";
import { invariant } from "../../../runtime/invariant.ts";
import type { ComponentDeps } from "./component.ts";
import { isDeleting, type StatusCondition, withConditions } from "./shapes/metadata.ts";
import type { KubeNode, Taint } from "./shapes/node.ts";
import { isReady, withDisruption } from "./shapes/pod.ts";
import { stampOf } from "./shapes/time.ts";

export interface NodeSpec {
  readonly name: string;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  /** By the name of their resource: { "nvidia.com/gpu": 8 }. */
  readonly gpus?: Readonly<Record<string, number>>;
  /** Default: 110. */
  readonly pods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

export interface Nodes {
  addNode(spec: NodeSpec): void;
  /** The machine and its node are gone at once; the pods on it follow when the cluster has noticed. */
  removeNode(name: string): void;
  /** Its kubelet says that it is not ready. */
  notReady(name: string): void;
  ready(name: string): void;
  /** Its machine is not heard of any more; after a while it is held for lost, and its pods are given up. */
  lose(name: string): void;
  /** The machine reports again, and catches up with changes made meanwhile. */
  bringBack(name: string): void;
  /** It has too little memory left, and has said so. */
  underPressure(name: string): void;
  /** It has enough again. */
  relieve(name: string): void;
  cordon(name: string): void;
  uncordon(name: string): void;
  /** As kubectl drain: cordons the node and evicts every pod by the eviction API. */
  drain(name: string): void;
}

/** State of a kubelet that is in no API object. */
export interface Machine {
  readonly name: string;
  readonly hostIp: string;
  readonly images: Set<string>;
  /** While it is not heard of. */
  silence?: Timer | undefined;
}

const kubelet = "kubelet";
const notReadyTaint = "node.kubernetes.io/not-ready";
const lostTaint = "node.kubernetes.io/unreachable";
const pressureTaint = "node.kubernetes.io/memory-pressure";
const closedTaint = "node.kubernetes.io/unschedulable";
/** How long the real controller of nodes waits for a heartbeat. */
const lostAfterMs = 50_000;

export function createNodes({ server, view, clock }: ComponentDeps, machines: Map<string, Machine>): Nodes {
  let added = 0;

  function nodeOf(name: string): KubeNode {
    const node = view.get<KubeNode>(kinds.node, { name });
    invariant(node, "there is no such node", { name });
    return node;
  }

  function addNode(spec: NodeSpec): void {
    added += 1;
    const machine: Machine = {
      name: spec.name,
      hostIp: `192.168.${10 + (added >> 8)}.${added & 255}`,
      images: new Set<string>(),
    };
    machines.set(spec.name, machine);
    const status = nodeStatus(spec, machine, stampOf(clock.now()));
    server.create(kinds.node, { ...nodeObject(spec), status }, kubelet);
  }

  function writeConditions(name: string, next: readonly StatusCondition[]): void {
    const node = nodeOf(name);
    const now = stampOf(clock.now());
    const beating = next.map((each) => ({ ...each, lastHeartbeatTime: now }));
    const conditions = withConditions(node.status?.conditions, beating, now);
    server.updateStatus(kinds.node, { ...node, status: { ...node.status, conditions } }, kubelet);
  }

  /** Puts these taints in the place of those with their key. */
  function taint(name: string, key: string, effects: readonly Taint["effect"][], more: object = {}): void {
    const node = nodeOf(name);
    const { taints: before = [], unschedulable: closed, ...spec } = node.spec;
    const taints = [...before.filter((each) => each.key !== key), ...effects.map((effect) => ({ key, effect }))];
    const kept = key !== closedTaint && closed ? { unschedulable: closed } : {};
    server.update(kinds.node, { ...node, spec: { ...spec, ...kept, ...more, ...(taints.length > 0 && { taints }) } });
  }

  /** What the controller of nodes makes of one that is silent. */
  function giveUp(name: string): void {
    const unknown = soundConditions.map(({ type }): StatusCondition => {
      return { type, status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
    });
    writeConditions(name, unknown);
    taint(name, lostTaint, ["NoSchedule", "NoExecute"]);
    for (const pod of view.podsOn(name)) {
      if (!isReady(pod)) continue;
      const conditions = withConditions(pod.status?.conditions, [notHeardOf], stampOf(clock.now()));
      server.updateStatus(kinds.pod, { ...pod, status: { ...pod.status, conditions } });
    }
  }

  function close(name: string): void {
    taint(name, closedTaint, ["NoSchedule"], { unschedulable: true });
  }

  return {
    addNode,
    removeNode(name) {
      machines.get(name)?.silence?.cancel();
      machines.delete(name);
      server.delete(kinds.node, { name });
    },
    notReady(name) {
      const message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady";
      writeConditions(name, [condition("Ready", "False", "KubeletNotReady", message)]);
      taint(name, notReadyTaint, ["NoSchedule", "NoExecute"]);
    },
    ready(name) {
      writeConditions(name, soundConditions);
      taint(name, notReadyTaint, []);
    },
    lose(name) {
      const machine = machines.get(name);
      invariant(machine, "there is no such machine", { name });
      machine.silence ??= clock.timer(lostAfterMs, () => giveUp(name));
    },
    bringBack(name) {
      const machine = machines.get(name);
      invariant(machine, "there is no such machine", { name });
      machine.silence?.cancel();
      machine.silence = undefined;
      writeConditions(name, soundConditions);
      taint(name, lostTaint, []);
    },
    underPressure(name) {
      writeConditions(name, [condition("MemoryPressure", "True", "KubeletHasInsufficientMemory")]);
      taint(name, pressureTaint, ["NoSchedule"]);
    },
    relieve(name) {
      writeConditions(name, [condition("MemoryPressure", "False", "KubeletHasSufficientMemory")]);
      taint(name, pressureTaint, []);
    },
    cordon: close,
    drain(name) {
      close(name);
      const why = { reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" };
      for (const pod of view.podsOn(name)) {
        // What a daemon set has made would come again, and stays.
        if (isDeleting(pod) || pod.metadata.ownerReferences?.some(({ kind }) => kind === "DaemonSet")) continue;
        server.updateStatus(kinds.pod, withDisruption(pod, why, stampOf(clock.now())));
        server.delete(kinds.pod, pod.metadata, { uid: pod.metadata.uid });
      }
    },
    uncordon: (name) => taint(name, closedTaint, []),
  };
}

function condition(type: string, status: "True" | "False", reason: string, message?: string): StatusCondition {
  return { type, status, reason, ...(message ? { message } : {}) };
}

const notHeardOf: StatusCondition = { type: "Ready", status: "False" };

const soundConditions: readonly StatusCondition[] = [
  condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
  condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
  condition("PIDPressure", "False", "KubeletHasSufficientPID"),
  condition("Ready", "True", "KubeletReady"),
];

function nodeObject({ name, labels, annotations, taints }: NodeSpec) {
  const given = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
  };
  return {
    metadata: { name, labels: { ...given, ...labels }, ...(annotations ? { annotations } : {}) },
    spec: taints ? { taints } : {},
  };
}

function nodeStatus(spec: NodeSpec, { hostIp }: Machine, now: string) {
  const counts = Object.entries({ pods: 110, ...spec.gpus, ...(spec.pods ? { pods: spec.pods } : {}) });
  const resources = {
    cpu: formatCpuMilli(spec.cpuMilli),
    memory: formatBytes(spec.memoryBytes),
    "ephemeral-storage": formatBytes(spec.ephemeralBytes),
    ...Object.fromEntries(counts.map(([name, count]) => [name, String(count)])),
  };
  return {
    capacity: resources,
    allocatable: resources,
    conditions: soundConditions.map((each) => ({ ...each, lastHeartbeatTime: now, lastTransitionTime: now })),
    addresses: [
      { type: "InternalIP", address: hostIp },
      { type: "Hostname", address: spec.name },
    ],
  };
}
