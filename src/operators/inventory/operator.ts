/**
 * The inventory operator: watches nodes, pods and volumes, has every node's hardware looked at, and makes of all that
 * one picture of what the cluster has and what of it is taken. It labels the nodes with what workloads select them by.
 */
import { createEventRecorder, type ObjectReference } from "../../kube/event-recorder.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Queue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { type NodeFacts, projectNode } from "./accounting/node-facts.ts";
import { nodeInventory } from "./accounting/node-inventory.ts";
import { projectPod } from "./accounting/pod-use.ts";
import { createTally, type TallyCounts } from "./accounting/tally.ts";
import { volumeLimits } from "./accounting/volumes.ts";
import { createAssembly } from "./assembly.ts";
import { tellConditions } from "./condition-events.ts";
import { createConfigSource } from "./configuration/config-source.ts";
import { classesOnNode, excludedBy } from "./configuration/inventory-config.ts";
import type { Condition, Inventory, NodeInventory } from "./inventory.ts";
import { createGtMemory } from "./labels/gt-memory.ts";
import { createLabelWriter, type LabelWriterCounts } from "./labels/label-writer.ts";
import { wantedLabels } from "./labels/wanted-labels.ts";
import { createDiscoveryPods, type DiscoveryOptions, type Wish } from "./nodes/discovery-pods.ts";
import { createUsageReadings } from "./nodes/usage-readings.ts";
import { nameCard } from "./registry/name-card.ts";
import type { RegistryLocation } from "./registry/read-registry.ts";
import { createRegistrySource, type RegistrySourceCounts } from "./registry/registry-source.ts";
import { staleness } from "./staleness.ts";
import { createStorage, type StorageCounts } from "./storage/storage.ts";

export interface InventoryOperatorOptions {
  /** A path that ends in yaml, or YAML itself; without it the default configuration is in force. */
  readonly config: string | undefined;
  /** Where the names of gpus come from, beside those that are built in. */
  readonly registry: RegistryLocation | undefined;
  readonly registryPeriodMs: number;
  /** Without it no node's hardware is looked at. */
  readonly discovery: DiscoveryOptions | undefined;
  /** Without it conditions become no Kubernetes Events. */
  readonly events?: InventoryEventsOptions;
}

export interface InventoryEventsOptions {
  readonly instance: string;
  /** Our own pod, once it is known. */
  readonly self: () => ObjectReference | undefined;
}

export interface InventoryOperatorDeps {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of every new picture. */
  readonly onInventory: (inventory: Inventory) => void;
}

export interface InventoryOperator {
  readonly name: "inventory";
  start(scope: Scope): void;
  /** The last whole picture; undefined until there was one. */
  readonly inventory: Inventory | undefined;
  /** Why there is none yet. */
  readonly waitingFor: string | undefined;
  /** How long ago the cluster was last heard of. */
  readonly ageMs: number;
  readonly queues: readonly Queue[];
  readonly counts: InventoryOperatorCounts;
}

export interface InventoryOperatorCounts {
  readonly pictures: number;
  readonly tally: TallyCounts;
  readonly labels: LabelWriterCounts;
  readonly storage: StorageCounts;
  readonly registry: Readonly<RegistrySourceCounts>;
}

export function createInventoryOperator(
  options: InventoryOperatorOptions,
  deps: InventoryOperatorDeps,
): InventoryOperator {
  const { kube, clock, random, log } = deps;
  const tally = createTally();
  const gtMemory = createGtMemory(clock);
  const config = createConfigSource({ source: options.config }, { clock, log });
  const registry = createRegistrySource(
    { location: registryLocation(), periodMs: options.registryPeriodMs },
    { clock, log },
  );
  const storage = createStorage({ kube, clock, log });
  const usage = createUsageReadings({ kube, clock, onChange: (node) => assembly.touch(node) });
  let gtSelected: ReadonlySet<string> = new Set();
  let pictures = 0;

  const nodes = kube.watch({
    kind: kinds.node,
    project: projectNode,
    handle({ name }) {
      assembly.touch(name);
      discovery?.add(name);
    },
  });
  const pods = kube.watch({
    kind: kinds.pod,
    project: projectPod,
    handle({ type, value }) {
      for (const node of type === "deleted" ? tally.gone(value.uid) : tally.seen(value)) assembly.touch(node);
      // Whoever selects a label with Gt changes labels, and perhaps no sum at all.
      if (value.gtSelected.length > 0) assembly.touchRest();
    },
  });
  const csiNodes = kube.watch({
    kind: kinds.csiNode,
    project: volumeLimits,
    handle: ({ name }) => assembly.touch(name),
  });

  const discovery =
    options.discovery &&
    createDiscoveryPods(options.discovery, {
      kube,
      clock,
      random,
      log,
      wishFor,
      onChange: (node) => assembly.touch(node),
      onSettled: () => assembly.touchAll(),
    });

  const events = options.events;
  const recorder =
    events &&
    createEventRecorder(
      { controller: "akash.network/operator-inventory", instance: events.instance },
      { kube, clock, random, log },
    );

  const labels = createLabelWriter({
    kube,
    clock,
    random,
    log,
    wanted(name) {
      const node = assembly.node(name);
      const live = nodes.get({ name })?.labels;
      return node && live && wantedLabels(node, { live, gtSelected });
    },
    live: (name) => nodes.get({ name })?.labels,
  });

  const assembly = createAssembly({
    clock,
    nodeOf,
    *nodeNames() {
      for (const { name } of nodes.list()) yield name;
    },
    rest: (list) => {
      const { storage: classes, conditions } = storage.read(list, config.current);
      return {
        storage: classes,
        conditions: [...conditions, ...config.conditions, ...registry.conditions, ...stale()],
      };
    },
    waitingFor,
    onInventory(inventory, changed) {
      pictures += 1;
      if (pictures === 1) log.info("read the whole cluster", summary(inventory));
      const before = gtSelected;
      gtSelected = gtMemory.update(tally.gtSelected());
      const relabel = sameSet(before, gtSelected) ? changed : inventory.nodes.map(({ name }) => name);
      for (const name of relabel) labels.look(name);
      deps.onInventory(inventory);
    },
  });

  function registryLocation(): RegistryLocation | undefined {
    return config.current.gpuRegistry ?? options.registry;
  }

  function waitingFor(): string | undefined {
    if (!config.settled) return config.conditions[0]?.message ?? "the configuration";
    const caches = { nodes, pods };
    for (const [what, { ready, trouble }] of Object.entries(caches)) {
      if (!ready) return trouble ? `${what}: ${trouble.message}` : what;
    }
    if (!storage.ready) return "storage classes and volumes";
    // Else whoever listens would see nodes lose their gpus' models whenever the operator is upgraded.
    return (discovery?.settled ?? true) ? undefined : "the discovery pods that are there";
  }

  /** A node that is not ready keeps its pod: it may be back in a moment, and the pod with it. */
  function wishFor(name: string): Wish {
    if (!nodes.ready || !config.settled) return "kept";
    const node = nodes.get({ name });
    if (!node || excludedBy(config.current, name) !== undefined) return "unwanted";
    if (node.uid === undefined || node.hindrances.some((each) => each === "not ready" || each === "being deleted"))
      return "kept";
    return { wanted: { name, uid: node.uid } };
  }

  function nodeOf(name: string): NodeInventory | undefined {
    const node: NodeFacts | undefined = nodes.get({ name });
    if (!node) return undefined;
    const { hardware, atMs: hardwareAtMs, condition } = discovery?.about(name) ?? {};
    const storageClasses = classesOnNode(config.current, storage.classNames, name);
    return nodeInventory({
      node,
      use: tally.perNode(name),
      config: config.current,
      storageClasses,
      disk: storage.onDisk(name, storageClasses),
      namedGpus: hardware?.gpus.map((card) => nameCard(registry.registry, card)) ?? [],
      volumeLimits: csiNodes.get({ name }),
      hardware,
      hardwareAtMs,
      usage: usage.of(name),
      conditions: condition ? [condition] : [],
    });
  }

  const conditions = {
    clock,
    inventory: () => assembly.inventory,
    uidOfNode: (name: string) => nodes.get({ name })?.uid,
    self: () => events?.self(),
  };

  function stale(): Condition[] {
    return staleness({ nodes, pods, "limits of volumes": csiNodes });
  }

  /** A watch that is interrupted brings no event that would tell of it. */
  async function watchWatches(signal: AbortSignal): Promise<void> {
    let told = "";
    for (;;) {
      await sleep(clock, limits.inventoryStaleLookMs, signal);
      const now = [...stale(), ...storage.stale].map(({ message }) => message).join();
      if (now !== told) assembly.touchRest();
      told = now;
    }
  }

  async function recount(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(clock, limits.inventoryRecountMs, signal);
      const wrong = tally.recompute(pods.list());
      if (wrong.length > 0) log.error("corrected the use of nodes that had drifted", { nodes: wrong });
      // Also what depends on time alone, like a memory that fades, is looked at again.
      assembly.touchAll();
    }
  }

  return {
    name: "inventory",
    start(scope) {
      for (const source of [config, registry]) source.onChange(() => assembly.touchAll());
      config.onChange(() => {
        registry.relocate(registryLocation());
        for (const { name } of nodes.list()) discovery?.add(name);
      });
      let classNames = storage.classNames;
      storage.onChange((node) => {
        // Of all that storage tells, nodes show which classes there are, and one the volumes on its disk.
        if (storage.classNames !== classNames) assembly.touchAll();
        else if (node !== undefined) assembly.touch(node);
        else assembly.touchRest();
        classNames = storage.classNames;
      });
      scope.onStop(() => assembly.close());
      scope.onStop(() => config.close());
      scope.onStop(async () => {
        await Promise.all([nodes.close(), pods.close(), csiNodes.close(), storage.close()]);
      });
      discovery?.start(scope);
      scope.task("first picture", async (signal) => {
        await Promise.all([nodes.synced(signal), pods.synced(signal), storage.synced(signal)]);
        assembly.touchAll();
        await untilAborted(signal);
      });
      scope.task("registry", (signal) => registry.run(signal));
      scope.task("usage", (signal) => usage.run(signal));
      scope.task("labels", (signal) => labels.run(signal));
      scope.task("recount", recount);
      scope.task("watches", watchWatches);
      if (recorder) {
        scope.task("events", (signal) => recorder.run(signal));
        scope.task("conditions", (signal) => tellConditions({ ...conditions, recorder }, signal));
      }
    },
    get inventory() {
      return assembly.inventory;
    },
    get waitingFor() {
      return waitingFor();
    },
    get ageMs() {
      return Math.max(nodes.ageMs, pods.ageMs);
    },
    queues: [discovery, recorder, labels].flatMap((part) => part?.queue ?? []),
    get counts() {
      return {
        pictures,
        tally: tally.counts,
        labels: labels.counts,
        storage: storage.counts,
        registry: registry.counts,
      };
    },
  };
}

function summary({ nodes, storage }: Inventory) {
  return { nodes: nodes.length, offered: nodes.filter(({ offered }) => offered).length, classes: storage.length };
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
