/** The nodes of the simulated cluster, and what can happen to them. */

import { kinds } from "../../../kube/kinds.ts";
import { formatBytes, formatCpuMilli } from "../../../market/quantity.ts";
import { invariant } from "../../../runtime/invariant.ts";
import { type Machine, type Machines, mostPods } from "./machines.ts";
import { type Ground, managers } from "./part.ts";
import { type Condition, withCondition } from "./shapes/metadata.ts";
import type { Node, Taint } from "./shapes/node.ts";
import { stampOf } from "./shapes/time.ts";

export interface NodeSpec {
  readonly name: string;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  /** By the name of their resource: { "nvidia.com/gpu": 8 }. */
  readonly gpus?: Readonly<Record<string, number>>;
  /** 110 unless told. */
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
  cordon(name: string): void;
  uncordon(name: string): void;
}

export function createNodes({ server, view, clock }: Ground, machines: Machines): Nodes {
  function nodeOf(name: string): Node {
    const node = view.get<Node>(kinds.node, { name });
    invariant(node, "there is no such node", { name });
    return node;
  }

  function addNode(spec: NodeSpec): void {
    invariant((spec.pods ?? 0) <= mostPods, "a node takes fewer pods", { name: spec.name, most: mostPods });
    const machine = machines.add(spec.name);
    const status = nodeStatus(spec, machine, stampOf(clock.now()));
    server.create(kinds.node, { ...nodeObject(spec, machine), status }, managers.kubelet);
  }

  function writeConditions(name: string, next: readonly Condition[]): void {
    const node = nodeOf(name);
    const now = stampOf(clock.now());
    let conditions = node.status?.conditions;
    for (const each of next) conditions = withCondition(conditions, { ...each, lastHeartbeatTime: now }, now);
    server.updateStatus(kinds.node, { ...node, status: { ...node.status, conditions } }, managers.kubelet);
  }

  function close(name: string, unschedulable: boolean): void {
    const node = nodeOf(name);
    const { unschedulable: _, ...spec } = node.spec;
    server.update(kinds.node, { ...node, spec: unschedulable ? { ...spec, unschedulable } : spec }, "kubectl");
  }

  return {
    addNode,
    removeNode(name) {
      machines.remove(name);
      server.delete(kinds.node, { name });
    },
    notReady(name) {
      const message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady";
      writeConditions(name, [{ type: "Ready", status: "False", reason: "KubeletNotReady", message }]);
    },
    ready: (name) => writeConditions(name, soundConditions),
    cordon: (name) => close(name, true),
    uncordon: (name) => close(name, false),
  };
}

function condition(type: string, status: "True" | "False", reason: string, message: string): Condition {
  return { type, status, reason, message };
}

const soundConditions: readonly Condition[] = [
  condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
  condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
  condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
  condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

function nodeObject({ name, labels, annotations, taints }: NodeSpec, { podCidr }: Machine) {
  const given = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { ...given, ...labels }, ...(annotations ? { annotations } : {}) },
    spec: { podCIDR: podCidr, podCIDRs: [podCidr], ...(taints ? { taints } : {}) },
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
    daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
    nodeInfo: {
      architecture: "amd64",
      operatingSystem: "linux",
      osImage: "Debian GNU/Linux 12 (bookworm)",
      kernelVersion: "6.1.0-28-amd64",
      containerRuntimeVersion: "containerd://1.7.24",
      kubeletVersion: "v1.34.4",
      kubeProxyVersion: "",
      machineID: "",
      systemUUID: "",
      bootID: "",
    },
  };
}
