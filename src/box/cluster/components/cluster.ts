/**
 * The components of the simulated cluster: scheduler, kubelets, controllers. They share one queue and take one key
 * at a time, so the same seed gives the same history; an idle cluster has nothing in it and burns nothing.
 */
import { kinds } from "../../../kube/kinds.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../../runtime/outcome.ts";
import { createQueue, type QueueCounts } from "../../../runtime/queue.ts";
import type { Random } from "../../../runtime/random.ts";
import type { ApiServer } from "../api-server/in-process.ts";
import type { Component, ComponentDeps, Wake } from "./component.ts";
import { createClaims, createVolumes } from "./controllers/claims.ts";
import { createEndpointSlices } from "./controllers/endpoint-slices.ts";
import { createGarbageCollector } from "./controllers/garbage.ts";
import { createLostPods } from "./controllers/lost-pods.ts";
import { createNamespaces } from "./controllers/namespaces.ts";
import { createReplicas } from "./controllers/replicas.ts";
import { createTaintEviction } from "./controllers/taint-eviction.ts";
import { createEvents } from "./events.ts";
import type { Behaviours } from "./kubelet/behaviour.ts";
import { createKubelets, type Kubelets } from "./kubelet/kubelet.ts";
import type { PodRuntime } from "./kubelet/pod-runtime.ts";
import { createPodRuntime } from "./kubelet/runtime.ts";
import { createNodes, type Machine, type NodeSpec, type Nodes } from "./nodes.ts";
import { createScheduler } from "./scheduler/scheduler.ts";
import type { Pod } from "./shapes/pod.ts";
import { createView } from "./view.ts";

export interface ClusterOptions {
  readonly nodes?: readonly NodeSpec[];
  /** How containers behave, by image. */
  readonly behaviour?: Behaviours;
  /** Makes a metrics API, which shows what pods and nodes use, of containers that have run for so long. */
  readonly metrics?: { readonly afterMs: number };
}

export interface SimulatedNodes extends Nodes, Pick<Kubelets, "evict" | "restart"> {
  /** Logs, exec and HTTP of the containers. */
  readonly runtime: PodRuntime;
  readonly counts: QueueCounts;
  /** Stops all components; the objects stay as they are. Rejects when a component broke down. */
  close(): Promise<void>;
}

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** On a server that has nothing yet. */
export function startCluster(
  server: ApiServer,
  options: ClusterOptions,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): SimulatedNodes {
  const view = createView();
  const events = createEvents(server, view, clock);
  const deps: ComponentDeps = { server, view, clock, random, events };
  const machines = new Map<string, Machine>();
  const kubelets = createKubelets(deps, machines, options.behaviour);
  const components = new Map<string, { readonly component: Component; readonly wake: Wake }>();
  for (const component of [...componentsOf(deps), kubelets]) {
    components.set(component.name, { component, wake: (key) => queue.add(`${component.name} ${key}`) });
  }
  const queue = createQueue({ name: "simulated cluster", work, clock, random, log, concurrency: 1 });

  async function work(key: string): Promise<Outcome> {
    const space = key.indexOf(" ");
    const afterMs = components.get(key.slice(0, space))?.component.work(key.slice(space + 1));
    return afterMs === undefined ? done() : recheck(afterMs);
  }

  const unsubscribe = server.subscribe((event) => {
    view.apply(event);
    for (const { component, wake } of components.values()) component.notice(event, wake);
  });
  for (const name of namespaces) server.create(kinds.namespace, { metadata: { name } });
  const nodes = createNodes(deps, machines);
  for (const spec of options.nodes ?? []) nodes.addNode(spec);

  const stop = new AbortController();
  const running = queue.run(stop.signal);
  // close() throws the error; until then it is in the log.
  running.catch((broken: unknown) => log.error("simulated cluster failed", { reason: reasonOf(broken) }));

  return {
    ...nodes,
    evict(at) {
      const isEvicted = kubelets.evict(at);
      if (isEvicted) nodes.underPressure(view.get<Pod>(kinds.pod, at)?.spec.nodeName ?? "");
      return isEvicted;
    },
    restart: kubelets.restart,
    runtime: createPodRuntime(kubelets, clock, options.metrics?.afterMs),
    get counts() {
      return queue.counts;
    },
    async close() {
      unsubscribe();
      for (const { silence } of machines.values()) silence?.cancel();
      stop.abort();
      await running;
    },
  };
}

function componentsOf(deps: ComponentDeps): Component[] {
  return [
    createNamespaces(deps),
    createReplicas(deps, kinds.deployment),
    createReplicas(deps, kinds.statefulSet),
    createClaims(deps),
    createVolumes(deps),
    createScheduler(deps),
    createGarbageCollector(deps),
    createLostPods(deps),
    createTaintEviction(deps),
    createEndpointSlices(deps),
  ];
}
