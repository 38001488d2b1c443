/**
 * The inventory operator: watches nodes, pods and volumes, has every node's hardware looked at, and makes of all that
 * one picture of what the cluster has and what of it is taken. It labels the nodes with what workloads select them by.
 */
import { createEventRecorder, type ObjectReference } from "../../kube/event-recorder.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import type { OperatorGround } from "../ground.ts";
import { createAssembly } from "./assembly.ts";
import { tellConditions } from "./condition-events.ts";
import { createConfigSource } from "./configuration/config-source.ts";
import { excludedBy } from "./configuration/inventory-config.ts";
import type { RegistryLocation } from "./gpu-names/read-registry.ts";
import { createRegistrySource } from "./gpu-names/registry-source.ts";
import type { Inventory } from "./inventory.ts";
import { createGtMemory } from "./labels/gt-selectors.ts";
import { createLabelWriter } from "./labels/label-writer.ts";
import { wantedLabels } from "./labels/wanted-labels.ts";
import { createDiscoveryPods, type DesiredPod, type DiscoveryOptions } from "./nodes/discovery-pods.ts";
import { createUsageReadings } from "./nodes/usage-readings.ts";
import { createStorage, type StorageChange } from "./storage/storage.ts";

export interface InventoryOperatorOptions {
  /** A path that ends in yaml, or YAML itself; without it the default configuration is in force. */
  readonly config: string | undefined;
  /** Where the names of gpus come from, beside those that are built in. */
  readonly registry: RegistryLocation | undefined;
  readonly registryPeriodMs: number;
  /** Without it no node's hardware is looked at. */
  readonly discovery: DiscoveryOptions | undefined;
  /** Without it conditions become no Kubernetes Events. */
  readonly events?: {
    readonly instance: string;
    /** Our own pod, once it is known. */
    readonly self: () => ObjectReference | undefined;
  };
}

interface InventoryOperatorDeps extends OperatorGround {
  /** Told of every new picture. */
  readonly onInventory: (inventory: Inventory) => void;
}

export type InventoryOperator = ReturnType<typeof createInventoryOperator>;

export function createInventoryOperator(options: InventoryOperatorOptions, deps: InventoryOperatorDeps) {
  const { onInventory, ...ground } = deps;
  const gtMemory = createGtMemory(ground.clock);
  let gtSelected: ReadonlySet<string> = new Set();

  const config = createConfigSource(options.config, { ...ground, onChange: onConfig });
  const registry = createRegistrySource(
    { location: registryLocation(), periodMs: options.registryPeriodMs },
    { ...ground, onChange: () => assembly.touchAll() },
  );
  const storage = createStorage({ ...ground, onChange: onStorage });
  const usage = createUsageReadings({ ...ground, onChange: (node) => assembly.touch(node) });
  const discovery =
    options.discovery &&
    createDiscoveryPods(options.discovery, {
      ...ground,
      desiredFor,
      onChange: (node) => assembly.touch(node),
      onSettled: () => assembly.touchAll(),
    });
  const parts = { config, registry, storage, usage, discovery };
  const assembly = createAssembly({ ...ground, ...parts, onInventory, onNodes });
  const liveLabels = (node: string) => assembly.nodes.get({ name: node })?.labels;
  const labels = createLabelWriter({
    ...ground,
    wanted(name) {
      const [node, live] = [assembly.node(name), liveLabels(name)];
      return node && live && wantedLabels(node, { live, gtSelected });
    },
    live: liveLabels,
  });
  const { events } = options;
  const recorder =
    events &&
    createEventRecorder({ controller: "akash.network/operator-inventory", instance: events.instance }, ground);

  function registryLocation(): RegistryLocation | undefined {
    return config.current.gpuRegistry ?? options.registry;
  }

  function onConfig(): void {
    assembly.touchAll();
    registry.relocate(registryLocation());
    for (const { name } of assembly.nodes.list()) discovery?.add(name);
  }

  /** Of all that storage tells, nodes show which classes there are, and one the volumes on its disk. */
  function onStorage(change: StorageChange): void {
    if (change.classes) assembly.touchAll();
    else if (change.node !== undefined) assembly.touch(change.node);
    else assembly.touchRest();
  }

  function onNodes(changed: readonly string[]): void {
    const before = gtSelected;
    gtSelected = gtMemory(assembly.gtSelected());
    const relabelled = sameSet(before, gtSelected) ? changed : Array.from(assembly.nodes.list(), ({ name }) => name);
    for (const name of relabelled) labels.look(name);
  }

  /** A node that is not ready keeps its pod: it may be back in a moment, and the pod with it. */
  function desiredFor(name: string): DesiredPod {
    if (!assembly.nodes.ready || !config.settled) return "kept";
    const node = assembly.nodes.get({ name });
    if (!node || excludedBy(config.current, name) !== undefined) return "unwanted";
    const isAway = node.notOffered.some(({ type }) => type === "NotReady" || type === "BeingDeleted");
    return node.uid === undefined || isAway ? "kept" : { wanted: { name, uid: node.uid } };
  }

  return {
    name: "inventory",
    start(scope: Scope): void {
      scope.onStop(() => config.close());
      scope.onStop(async () => {
        await Promise.all([assembly.close(), storage.close()]);
      });
      discovery?.start(scope);
      scope.task("first picture", async (signal) => {
        await Promise.all([assembly.synced(signal), storage.synced(signal)]);
        assembly.touchAll();
        await untilAborted(signal);
      });
      scope.task("registry", (signal) => registry.run(signal));
      scope.task("usage", (signal) => usage.run(signal));
      scope.task("labels", (signal) => labels.queue.run(signal));
      scope.task("recount", assembly.recount);
      scope.task("watches", assembly.lookForStaleness);
      if (recorder) {
        const uidOfNode = (name: string) => assembly.nodes.get({ name })?.uid;
        const conditions = { ...ground, recorder, inventory: () => assembly.inventory, uidOfNode, self: events.self };
        scope.task("events", (signal) => recorder.run(signal));
        scope.task("conditions", (signal) => tellConditions(conditions, signal));
      }
    },
    /** The last whole picture; undefined until there was one. */
    get inventory() {
      return assembly.inventory;
    },
    /** Why there is none yet. */
    get waitingFor() {
      return assembly.waitingFor;
    },
    /** How long ago the cluster was last heard of. */
    get ageMs() {
      return assembly.ageMs;
    },
    /** The same of persistent volumes. */
    get volumesAgeMs() {
      return storage.volumesAgeMs;
    },
    queues: [discovery, recorder, labels].flatMap((part) => part?.queue ?? []),
    get counts() {
      return {
        ...assembly.counts,
        labelled: labels.counts.written,
        cephFailures: storage.cephFailures,
        registryFailures: registry.counts.failures,
      };
    },
  };
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
