/** The inventory operator: watches nodes, pods and volumes, queries each node's hardware, and labels the nodes. */
import { createEventRecorder, type ObjectReference } from "../../kube/event-recorder.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import type { OperatorDeps } from "../operator-service.ts";
import { Assembly } from "./assembly.ts";
import { recordConditions } from "./conditions.ts";
import { createConfigSource } from "./configuration/config-source.ts";
import { excludedBy } from "./configuration/inventory-config.ts";
import { createRegistrySource, type RegistryLocation } from "./gpu-names/registry-source.ts";
import type { Inventory } from "./inventory.ts";
import { createLabelWriter } from "./labels/label-writer.ts";
import { createGtMemory, wantedLabels } from "./labels/wanted-labels.ts";
import { type DesiredPod, type DiscoveryOptions, DiscoveryPods } from "./nodes/discovery-pods.ts";
import { createUsageReadings } from "./nodes/usage-readings.ts";
import { createStorage } from "./storage/storage.ts";

export interface InventoryOperatorOptions {
  /** A path that ends in yaml, or YAML itself; without it the default configuration is in force. */
  readonly config: string | undefined;
  readonly registry: RegistryLocation | undefined;
  readonly registryPeriodMs: number;
  /** Without it no node's hardware is queried. */
  readonly discovery: DiscoveryOptions | undefined;
  /** Without it conditions become no Kubernetes Events. */
  readonly events?: {
    readonly instance: string;
    readonly self: () => ObjectReference | undefined;
  };
}

interface InventoryOperatorDeps extends OperatorDeps {
  readonly onInventory: (inventory: Inventory) => void;
}

export type InventoryOperator = ReturnType<typeof createInventoryOperator>;

export function createInventoryOperator(options: InventoryOperatorOptions, deps: InventoryOperatorDeps) {
  const parts = assembleParts(options, deps);
  const { assembly, config, registry, storage, usage, discovery, labels } = parts;
  const { events } = options;
  const recorder =
    events && createEventRecorder({ controller: "akash.network/operator-inventory", instance: events.instance }, deps);

  return {
    name: "inventory",
    start(scope: Scope): void {
      scope.onStop(() => config.close());
      scope.onStop(async () => void (await Promise.all([assembly.close(), storage.close()])));
      discovery?.start(scope);
      scope.task("first snapshot", async (signal) => {
        await Promise.all([assembly.synced(signal), storage.synced(signal)]);
        assembly.touchAll();
        await untilAborted(signal);
      });
      scope.task("registry", (signal) => registry.run(signal));
      scope.task("usage", (signal) => usage.run(signal));
      scope.task("labels", (signal) => labels.queue.run(signal));
      scope.task("recount", assembly.recount);
      scope.task("watches", assembly.checkStaleness);
      if (!recorder) return;
      scope.task("events", (signal) => recorder.run(signal));
      const recorded = { ...deps, recorder, assembly, self: events.self };
      scope.task("conditions", (signal) => recordConditions(recorded, signal));
    },
    get inventory() {
      return assembly.inventory;
    },
    get waitingFor() {
      return assembly.waitingFor;
    },
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
        pods: assembly.podCount,
        labelled: labels.counts.written,
        cephFailures: storage.cephFailures,
        registryFailures: registry.counts.failures,
      };
    },
  };
}

function assembleParts(options: InventoryOperatorOptions, { onInventory, ...deps }: InventoryOperatorDeps) {
  const touch = (node?: string) => assembly.touch(node);
  const touchAll = () => assembly.touchAll();
  const config = createConfigSource(options.config, { ...deps, onChange: onConfig });
  const location = () => config.current.gpuRegistry ?? options.registry;
  const registry = createRegistrySource(
    { location: location(), periodMs: options.registryPeriodMs },
    { ...deps, onChange: touchAll },
  );
  const storage = createStorage({ ...deps, touch, touchAll });
  const usage = createUsageReadings({ ...deps, onChange: touch });
  const discovery =
    options.discovery &&
    new DiscoveryPods(options.discovery, { ...deps, desiredFor, onChange: touch, onSettled: touchAll });
  const assembly = new Assembly({ ...deps, config, registry, storage, usage, discovery, onInventory, onNodes });

  const gtMemory = createGtMemory(deps.clock);
  let gtSelected: ReadonlySet<string> = new Set();
  const live = (node: string) => assembly.nodes.get({ name: node })?.labels;
  const labels = createLabelWriter({
    ...deps,
    wanted(name) {
      const [node, labels] = [assembly.node(name), live(name)];
      return node && labels && wantedLabels(node, { live: labels, gtSelected });
    },
    live,
  });

  function onConfig(): void {
    assembly.touchAll();
    registry.relocate(location());
    for (const { name } of assembly.nodes.list()) discovery?.add(name);
  }

  function onNodes(changed: readonly string[]): void {
    const before = gtSelected;
    gtSelected = gtMemory(assembly.gtSelected());
    const isSame = before.size === gtSelected.size && [...before].every((key) => gtSelected.has(key));
    for (const name of isSame ? changed : Array.from(assembly.nodes.list(), (node) => node.name)) labels.add(name);
  }

  /** A node that is not ready keeps its pod: it may be back in a moment, and the pod with it. */
  function desiredFor(name: string): DesiredPod {
    if (!assembly.nodes.ready || !config.settled) return "kept";
    const node = assembly.nodes.get({ name });
    if (!node || excludedBy(config.current, name) !== undefined) return "unwanted";
    const isAway = node.notOffered.some(({ type }) => type === "NotReady" || type === "BeingDeleted");
    return node.uid === undefined || isAway ? "kept" : { wanted: { name, uid: node.uid } };
  }

  return { assembly, config, registry, storage, usage, discovery, labels };
}
