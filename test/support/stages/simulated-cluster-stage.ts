/** The simulated cluster on a virtual clock, without a client around it. */
import assert from "node:assert/strict";
import type { ApiServer } from "../../../src/box/cluster/api-server/in-process.ts";
import { createPartsServer } from "../../../src/box/cluster/api-server/in-process.ts";
import { createServer } from "../../../src/box/cluster/api-server/server.ts";
import { type ClusterOptions, type SimulatedNodes, startCluster } from "../../../src/box/cluster/components/cluster.ts";
import type { NodeSpec } from "../../../src/box/cluster/components/nodes.ts";
import type { StatusCondition } from "../../../src/box/cluster/components/shapes/metadata.ts";
import type { Pod, PodSpec } from "../../../src/box/cluster/components/shapes/pod.ts";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { createVirtualClock } from "../virtual-clock.ts";

const gi = 1024n ** 3n;

export interface ClusterStage {
  readonly clock: VirtualClock;
  readonly server: ApiServer;
  readonly cluster: SimulatedNodes;
  /** Of "default" unless another namespace is given. */
  pod(name: string, namespace?: string): Pod | undefined;
  pods(namespace?: string): Pod[];
  get<T extends KubeObject>(kind: Kind, name: string, namespace?: string): T | undefined;
  /** Moves time until it holds. */
  until(condition: () => boolean, limitMs?: number): Promise<void>;
  /** The notes of events about an object, oldest first. */
  notes(about: string): string[];
}

export interface StageOptions extends ClusterOptions {
  readonly seed?: number;
}

export function clusterStage(owner: Owner, options: StageOptions = {}): ClusterStage {
  const clock = createVirtualClock();
  const random = createSeededRandom(options.seed ?? 1);
  const server = createPartsServer(createServer({ clock, random }));
  const cluster = startCluster(server, { nodes: [node("one")], ...options }, { clock, random, log: silentLog });
  owner.after(async () => {
    await cluster.close();
    assert.equal(cluster.counts.outcomes.failed, 0, "no part of the cluster fails at its work");
  });
  const listed = (kind: Kind, namespace?: string) => server.list(kind, { namespace });
  return {
    clock,
    server,
    cluster,
    pod: (name, namespace = "default") => server.get(kinds.pod, { namespace, name }) as Pod | undefined,
    pods: (namespace = "default") => listed(kinds.pod, namespace) as Pod[],
    get: <T extends KubeObject>(kind: Kind, name: string, namespace = "default") =>
      server.get(kind, kind.namespaced ? { namespace, name } : { name }) as T | undefined,
    until: (condition, limitMs) => clock.advanceUntil(condition, limitMs),
    notes: (about) =>
      listed(kinds.event)
        .filter((event) => (event["regarding"] as { name: string }).name === about)
        .map((event) => `${event["reason"]}: ${event["note"]}`),
  };
}

export function node(name: string, more: Partial<NodeSpec> = {}): NodeSpec {
  return { name, cpuMilli: 4_000n, memoryBytes: 16n * gi, ephemeralBytes: 100n * gi, ...more };
}

interface PodOptions extends Partial<PodSpec> {
  readonly namespace?: string;
  readonly image?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

export function podObject(name: string, wish: PodOptions = {}): KubeObject {
  const { namespace = "default", labels, ...spec } = wish;
  const metadata = { name, namespace, ...(labels ? { labels } : {}) };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: podSpec(spec) };
}

export function podSpec({ image = "web:1", requests, ...spec }: PodOptions = {}): PodSpec {
  // What only comes whole has a limit too, or the API server does not take it.
  const limits = Object.fromEntries(Object.entries(requests ?? {}).filter(([name]) => name.includes("/")));
  const container = { name: "web", image, ...(requests ? { resources: { requests, limits } } : {}) };
  return { containers: [container], ...spec } as PodSpec;
}

type WorkloadOptions = PodOptions & { readonly spec?: Readonly<Record<string, unknown>> };

export function deployment(
  name: string,
  replicas: number,
  { spec, namespace = "default", ...pod }: WorkloadOptions = {},
): KubeObject {
  return workload("Deployment", name, namespace, { replicas, ...spec }, pod);
}

export function statefulSet(
  name: string,
  replicas: number,
  { spec, namespace = "default", ...pod }: WorkloadOptions = {},
): KubeObject {
  return workload("StatefulSet", name, namespace, { replicas, serviceName: name, ...spec }, pod);
}

function workload(
  kind: string,
  name: string,
  namespace: string,
  spec: Record<string, unknown>,
  pod: PodOptions,
): KubeObject {
  const labels = { app: name, ...pod.labels };
  const { labels: _, ...wish } = pod;
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: podSpec(wish) },
      ...spec,
    },
  };
}

export function condition(object: Pod | undefined, type: string): StatusCondition | undefined {
  return object?.status?.conditions?.find((each) => each.type === type);
}

export function isRunningAndReady(pod: Pod | undefined): boolean {
  return pod?.status?.phase === "Running" && condition(pod, "Ready")?.status === "True";
}
