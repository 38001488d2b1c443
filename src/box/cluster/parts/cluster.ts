/**
 * The working parts of the simulated cluster: scheduler, kubelets, controllers. They share one queue and take one key
 * at a time, so the same seed gives the same history; an idle cluster has nothing in it and burns nothing.
 */

import { type Kind, kinds, resourceOf } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../../runtime/outcome.ts";
import { createQueue, type QueueCounts } from "../../../runtime/queue.ts";
import type { Random } from "../../../runtime/random.ts";
import type { ApiServer, ServerEvent } from "../api-server/api-server.ts";
import { bootstrap } from "./bootstrap.ts";
import { createClaims, type StorageCapacity } from "./controllers/claims.ts";
import { createGarbageCollector } from "./controllers/garbage.ts";
import { createLostPods } from "./controllers/lost-pods.ts";
import { createNamespaces } from "./controllers/namespaces.ts";
import { createNodeTaints } from "./controllers/node-taints.ts";
import { createReplicas } from "./controllers/replicas.ts";
import { createVolumes } from "./controllers/volumes.ts";
import { createEventRecorder } from "./event-recorder.ts";
import type { Behaviours } from "./kubelet/behaviour.ts";
import { createKubelets } from "./kubelet/kubelet.ts";
import type { PodRuntime } from "./kubelet/pod-runtime.ts";
import { createPodRuntime } from "./kubelet/runtime.ts";
import { createMachines, type Machines } from "./machines.ts";
import { createNodes, type NodeSpec, type Nodes } from "./nodes.ts";
import type { Ground, Part, Wake } from "./part.ts";
import { createScheduler } from "./scheduler/scheduler.ts";
import { createView } from "./view.ts";

export interface ClusterOptions {
  readonly nodes?: readonly NodeSpec[];
  /** How containers behave, by image. */
  readonly behaviour?: Behaviours;
  /** How much each storage class has to give. */
  readonly storage?: StorageCapacity;
}

export interface SimulatedNodes extends Nodes {
  /** Logs, exec and HTTP of the containers. */
  readonly runtime: PodRuntime;
  readonly counts: QueueCounts;
  /** Stops all parts; the objects stay as they are. Rejects when a part broke down. */
  close(): Promise<void>;
}

export function startCluster(
  server: ApiServer,
  options: ClusterOptions,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): SimulatedNodes {
  const view = createView();
  const events = createEventRecorder(server, view, clock);
  const ground: Ground = { server, view, clock, random, events };
  const machines = createMachines();
  const kubelets = createKubelets(ground, machines, options.behaviour);
  const parts = new Map<string, { readonly part: Part; readonly wake: Wake }>();
  for (const part of [...partsOf(ground, machines, options), kubelets]) {
    parts.set(part.name, { part, wake: (key) => queue.add(`${part.name} ${key}`) });
  }
  const queue = createQueue({ name: "simulated cluster", work, clock, random, log, concurrency: 1 });

  async function work(key: string): Promise<Outcome> {
    const space = key.indexOf(" ");
    const afterMs = parts.get(key.slice(0, space))?.part.work(key.slice(space + 1));
    return afterMs === undefined ? done() : recheck(afterMs);
  }

  function notice(event: ServerEvent): void {
    const known = builtIn.has(event.kind) ? event : { ...event, kind: intern(event.kind) };
    view.apply(known);
    for (const { part, wake } of parts.values()) part.notice(known, wake);
  }

  const intern = createInterning();
  const unsubscribe = server.subscribe(notice);
  for (const kind of Object.values(kinds)) {
    for (const object of listed(server, kind)) notice({ type: "added", kind, object });
  }
  bootstrap(ground);
  const nodes = createNodes(ground, machines);
  for (const spec of options.nodes ?? []) nodes.addNode(spec);

  const stop = new AbortController();
  const running = queue.run(stop.signal);
  // Whoever closes the cluster is given the error itself; until then it is at least in the log.
  running.catch((broken: unknown) => log.error("simulated cluster failed", { reason: reasonOf(broken) }));

  return {
    ...nodes,
    runtime: createPodRuntime(kubelets, clock),
    get counts() {
      return queue.counts;
    },
    async close() {
      unsubscribe();
      stop.abort();
      await running;
    },
  };
}

function partsOf(ground: Ground, machines: Machines, { storage }: ClusterOptions): Part[] {
  return [
    createNamespaces(ground),
    createReplicas(ground, kinds.deployment),
    createReplicas(ground, kinds.replicaSet),
    createReplicas(ground, kinds.statefulSet),
    createClaims(ground, storage),
    createVolumes(ground),
    createScheduler(ground, (node) => machines.get(node) !== undefined),
    createGarbageCollector(ground),
    createLostPods(ground),
    createNodeTaints(ground),
  ];
}

const builtIn: ReadonlySet<Kind> = new Set(Object.values(kinds));

/** Nothing where the kind is not installed (yet). */
function listed(server: ApiServer, kind: Kind): readonly KubeObject[] {
  try {
    return server.list(kind);
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return [];
    throw thrown;
  }
}

/** One object for each kind, so that parts can compare them: an event may carry a description of its own. */
function createInterning(): (kind: Kind) => Kind {
  const byResource = new Map<string, Kind>(Object.values(kinds).map((kind) => [resourceOf(kind), kind]));
  return (kind) => {
    const resource = resourceOf(kind);
    const found = byResource.get(resource) ?? kind;
    byResource.set(resource, found);
    return found;
  };
}
